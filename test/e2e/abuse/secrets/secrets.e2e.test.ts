import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { generateKeyPair, SignJWT } from "jose";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pushed } from "../../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../../snapshot/worlds.ts";
import { eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { queryBytes } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { filesOf } from "../paths/files.ts";
import { METHODS, pathsWith, type Route, routesOf } from "../paths/routes.ts";
import { Canaries } from "./canaries.ts";

const QUERY = queryBytes({ name: "www.example.com", type: "A" }, 0).toString("base64url");
const SHOP_QUERY = queryBytes({ name: "web.shop.svc.clusterset.local", type: "A" }, 0).toString("base64url");
const MESSAGE = { accept: "application/dns-message" };

describe("secrets of a gateway at the log level debug", () => {
  const canaries = new Canaries();
  const folder = temporaryFolder("secrets");
  const leaks: string[] = [];
  let gateway: GatewayProcess;
  /** Its connections are kept: the gateway is asked thousands of times. */
  let kept: Agent;
  let routes: Route[];
  const file = (name: string, secret: string) => {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600 });
    return join(folder, name);
  };

  beforeAll(async () => {
    const keys = await generateKeyPair("ES256", { extractable: true });
    const upstream = `https://127.0.0.1:${await freePort()}`;
    gateway = await startGateway({
      clusters: ["east", "west"],
      leaseSeconds: 600,
      config: {
        logLevel: "debug",
        transfer: { credentials: [{ tokenFile: file("transfer", canaries.make("transfer token")) }] },
        outsideZones: "forward",
        forward: {
          // Nobody is there.
          upstreams: [
            {
              server: `${upstream}/${canaries.make("upstream's path")}/dns-query`,
              tokenFile: file("upstream", canaries.make("upstream's token")),
            },
          ],
        },
      },
    });
    kept = new Agent({ connect: { ca: gateway.ca } });
    for (const id of ["east", "west"]) canaries.add(`push token of ${id}`, gateway.tokenFor(id));
    const key = readFileSync(join(gateway.stateDir, "tls/self-signed.key"), "utf8");
    canaries.add("private key", key.split("\n")[1]!);
    const claims = { iss: "https://issuer.example", aud: "clusterset-doh", sub: canaries.make("subject") };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "x" })
      .setExpirationTime("1h")
      .sign(keys.privateKey);
    canaries.add("token of an issuer", token.split(".")[2]!);
    canaries.add("whole token of an issuer", token);
    oidc = token;
    routes = await routesOf(gateway, join(folder, "state"));
    expect(
      (
        await ask(
          "PUT",
          "/api/v1/clusters/east/snapshot",
          `Bearer ${gateway.tokenFor("east")}`,
          shopSnapshot("east"),
        )
      ).status,
    ).toBe(200);
  });
  afterAll(async () => {
    await kept?.destroy();
    await gateway?.stop();
  });
  let oidc: string;

  /** A request, whose answer is searched. */
  async function ask(method: string, path: string, authorization?: string, json?: object) {
    const headers = {
      ...(path.includes("dns=") && MESSAGE),
      ...(authorization !== undefined && { authorization }),
    };
    const [, sent] = json === undefined ? [path, { method, headers }] : pushed(method, path, json, headers);
    const answer = await gateway.http(path, { ...sent, dispatcher: kept });
    const reported = `${JSON.stringify(answer.headers)}\n${answer.text}`;
    leaks.push(...canaries.foundIn(`${method} ${path}: ${answer.status}`, reported));
    return answer;
  }

  test("are in no answer on any route, with any credential", async () => {
    const basic = (password: string) => `Basic ${Buffer.from(`user:${password}`).toString("base64")}`;
    const shown = [
      undefined,
      `Bearer ${gateway.tokenFor("west")}`,
      `Bearer ${gateway.tokenFor("west")}x`,
      `Bearer ${canaries.make("unknown token")}`,
      basic(canaries.make("password")),
      `Bearer ${oidc}`,
      `Bearer ${canaries.make("two words")} and more`,
      canaries.make("no scheme"),
    ];
    for (const authorization of shown)
      for (const path of pathsWith(routes, "east"))
        for (const method of METHODS)
          await ask(
            method,
            path,
            authorization,
            method === "PUT" || method === "POST" ? shopSnapshot("west") : undefined,
          );
    expect(leaks).toEqual([]);
  });

  test("are in no answer to an unknown token in the path or the query", async () => {
    const token = canaries.make("token in a path");
    for (const path of [
      `/tokens/${token}/dns-query`,
      `/tokens/${token}/`,
      `/${token}`,
      `/${token}/dns-query`,
      `/dns-query/${token}`,
      `/healthz?token=${token}`,
      `/dns-query?token=${token}`,
      `/resolve?token=${token}`,
    ])
      for (const method of ["GET", "POST", "PUT"]) await ask(method, path);
    expect(leaks).toEqual([]);
  });

  test("are in no answer and no log if an upstream is unreachable", async () => {
    const { status } = await ask("GET", `/dns-query?dns=${QUERY}`);
    expect(status).toBe(200);
    await ask("GET", "/resolve?name=www.example.com");
    await ask("GET", "/?name=www.example.com");
    await eventually(() => gateway.process.log()).toContain("upstream-failed");
    expect(leaks).toEqual([]);
  });

  test("are in no answer and no log if a push fails or the database is damaged", async () => {
    const own = `Bearer ${gateway.tokenFor("east")}`;
    const path = join(gateway.stateDir, "clusterset.db");
    renameSync(path, `${path}.moved`);
    const failed = await ask("PUT", "/api/v1/clusters/east/snapshot", own, shopSnapshot("east", 5));
    expect(failed.status).toBe(503);
    await eventually(() => gateway.process.log()).toContain("store-failed");
    renameSync(`${path}.moved`, path);
    expect((await ask("PUT", "/api/v1/clusters/east/snapshot", own, shopSnapshot("east"))).status).toBe(200);
    const database = new DatabaseSync(path);
    database.exec("UPDATE entry SET text = 'damaged'");
    database.close();
    await gateway.restart();
    await ask("GET", `/dns-query?dns=${SHOP_QUERY}`);
    await eventually(() => gateway.process.log()).toContain("rows-damaged");
    await ask("GET", "/api/v1/clusters/east", own);
    await gateway.stop();
    writeFileSync(path, "damaged");
    await gateway.restart();
    expect(gateway.process.log()).toContain("database-damaged");
    await ask("GET", "/api/v1/clusters/east", own);
    expect(leaks).toEqual([]);
  });

  test("are in no line of the log", () => {
    const log = gateway.process.log();
    expect(log.length).toBeGreaterThan(1000);
    expect(canaries.foundIn("the log", log)).toEqual([]);
  });

  test("are in no file that other users can read, and no file has a push token", () => {
    for (const entry of filesOf(gateway.stateDir)) {
      const [name, , mode] = entry.split(" ") as [string, string, string];
      const isPublic = name === "tls/self-signed.crt";
      expect([name, mode]).toEqual([name, isPublic ? "644" : expect.stringMatching(/^[67]00$/)]);
      const path = join(gateway.stateDir, name);
      if (name.endsWith(".key") || !statSync(path).isFile()) continue;
      expect(canaries.foundIn(name, readFileSync(path, "utf8"))).toEqual([]);
    }
  });
});
