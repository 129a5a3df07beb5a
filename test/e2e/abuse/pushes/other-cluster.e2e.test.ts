import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, type Dispatcher, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ISSUER, makeKey, NOW, SUBJECT } from "../../../access/issuers.ts";
import { DEADLINE } from "../../../deadline.ts";
import { makeAuthority, makeClient, type PemPair } from "../../../hosts/client-certificates.ts";
import { LINES_TYPE, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { METHODS, pathsOf } from "../paths.ts";

/** Each shows who it is in another way. */
const KINDS = ["bearer", "oidc", "certificate"] as const;

/** What a request shows. */
interface Shown {
  readonly authorization?: string;
  readonly certificate?: PemPair;
}

describe("a cluster's credential on every route for another cluster", () => {
  let gateway: GatewayProcess;
  let shown: Record<(typeof KINDS)[number], Shown>;
  beforeAll(async () => {
    const authority = await makeAuthority("clusters");
    const clientCaFile = join(temporaryFolder("other-cluster"), "clients.crt");
    writeFileSync(clientCaFile, authority.cert);
    const key = await makeKey("one");
    const token = await key.token({ exp: Math.floor((Date.now() - NOW) / 1000) + 3600 });
    gateway = await startGateway({
      // East is who is attacked; each of the others has one kind of credential.
      clusters: ["east", "bearer"],
      leaseSeconds: 600,
      config: {
        tls: { clientCaFile },
        transfer: { credentials: [{ tokenSha256: "0f".repeat(32) }] },
        push: {
          credentials: [
            { clusterId: "oidc", oidc: { issuer: ISSUER, subject: SUBJECT, jwks: { keys: [key.jwk] } } },
            { clusterId: "certificate", certificate: { san: "west.example" } },
          ],
        },
      },
    });
    shown = {
      bearer: { authorization: `Bearer ${gateway.tokenFor("bearer")}` },
      oidc: { authorization: `Bearer ${token}` },
      certificate: { certificate: await makeClient(authority, "west", { dnsNames: ["west.example"] }) },
    };
    expect((await gateway.push(shopSnapshot("east", 3))).status).toBe(200);
  });
  afterAll(async () => {
    await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    await gateway?.stop();
  });

  /** The connections of clients with each certificate, and without one. */
  const agents = new Map<PemPair | undefined, Agent>();
  const agentOf = (certificate: PemPair | undefined) => {
    const agent =
      agents.get(certificate) ??
      new Agent({ connect: { ca: gateway.ca, timeout: DEADLINE, ...certificate } });
    agents.set(certificate, agent);
    return agent;
  };

  /** One request. @param about whose snapshot its body is */
  async function send(who: Shown, method: string, path: string, about: string): Promise<number> {
    const { authorization, certificate } = who;
    const sends = method !== "GET" && method !== "HEAD";
    const { statusCode, body } = await request(gateway.url + path, {
      method: method as Dispatcher.HttpMethod,
      dispatcher: agentOf(certificate),
      headers: { "content-type": LINES_TYPE, ...(authorization !== undefined && { authorization }) },
      body: sends ? snapshotBody(shopSnapshot(about, 3)) : null,
    });
    await body.dump();
    return statusCode;
  }

  test.each(KINDS)(
    "%s: pushes its own cluster, and of another one reads nothing that is not public and changes nothing",
    async (kind) => {
      const own = `/api/v1/clusters/${kind}`;
      expect(await send(shown[kind], "PUT", `${own}/snapshot`, kind)).toBe(200);
      expect(await send(shown[kind], "GET", own, kind)).toBe(200);
      const before = await gateway.clusterStatus("east");
      let rejected = 0;
      for (const path of await pathsOf(gateway, "east"))
        for (const method of METHODS) {
          const [anonymous, known] = [
            await send({}, method, path, "east"),
            await send(shown[kind], method, path, "east"),
          ];
          const where = `${method} ${path}: ${known}, ${anonymous} for anybody`;
          // Some get a distinct status: 403 with a known credential.
          if (anonymous === 401 || anonymous === 403) {
            expect([where, [401, 403].includes(known)]).toEqual([where, true]);
            rejected++;
          } else expect([where, known]).toEqual([where, anonymous]);
        }
      // PUT, PATCH, POST, DELETE, GET and HEAD of the push API, at least.
      expect(rejected).toBeGreaterThanOrEqual(6);
      expect(await send(shown[kind], "PUT", `${own}/snapshot`, "east")).toBe(422);
      expect(await gateway.clusterStatus("east")).toEqual(before);
    },
  );

  test("two credentials of different clusters at once: the token alone decides", async () => {
    const both = { ...shown.certificate, ...shown.bearer };
    expect(await send(both, "PUT", "/api/v1/clusters/certificate/snapshot", "certificate")).toBe(403);
    expect(await send(both, "PUT", "/api/v1/clusters/bearer/snapshot", "bearer")).toBe(200);
  });
});
