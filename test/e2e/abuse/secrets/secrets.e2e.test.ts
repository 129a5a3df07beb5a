import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeKey } from "../../../access/issuers.ts";
import { pushed } from "../../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../../snapshot/worlds.ts";
import { eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { queryBytes } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { METHODS, pathsOf } from "../paths.ts";
import { Canaries } from "./canaries.ts";

const queryOf = (name: string) =>
  `/dns-query?dns=${queryBytes({ name, type: "A" }, 0).toString("base64url")}`;

describe("secrets of a gateway at the log level debug", () => {
  const canaries = new Canaries();
  const folder = temporaryFolder("secrets");
  const leaks: string[] = [];
  let gateway: GatewayProcess;
  /** Its connections are kept: the gateway is asked thousands of times. */
  let kept: Agent;
  /** A token of an issuer that is not configured. */
  let oidc: string;
  const file = (name: string, secret: string) => {
    writeFileSync(join(folder, name), `${secret}\n`, { mode: 0o600 });
    return join(folder, name);
  };

  beforeAll(async () => {
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
    oidc = await (await makeKey("x")).token({ sub: canaries.make("subject") });
    canaries.add("token of an issuer", oidc.split(".")[2]!);
    expect((await push("east")).status).toBe(200);
  });
  afterAll(async () => {
    await kept?.destroy();
    await gateway?.stop();
  });

  /** A request, whose answer is searched. */
  async function ask(method: string, path: string, authorization?: string, json?: object) {
    const headers = {
      ...(path.includes("dns=") && { accept: "application/dns-message" }),
      ...(authorization !== undefined && { authorization }),
    };
    const [, sent] = json === undefined ? [path, { method, headers }] : pushed(method, path, json, headers);
    const answer = await gateway.http(path, { ...sent, dispatcher: kept });
    const reported = `${JSON.stringify(answer.headers)}\n${answer.text}`;
    leaks.push(...canaries.foundIn(`${method} ${path}: ${answer.status}`, reported));
    return answer;
  }

  /** A push by east. */
  const push = (about: string) =>
    ask("PUT", "/api/v1/clusters/east/snapshot", `Bearer ${gateway.tokenFor("east")}`, shopSnapshot(about));

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
      for (const path of await pathsOf(gateway, "east"))
        for (const method of METHODS) {
          const sends = method === "PUT" || method === "POST";
          await ask(method, path, authorization, sends ? shopSnapshot("west") : undefined);
        }
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
    const { status } = await ask("GET", queryOf("www.example.com"));
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
    expect((await push("east")).status).toBe(503);
    await eventually(() => gateway.process.log()).toContain("store-failed");
    renameSync(`${path}.moved`, path);
    expect((await push("east")).status).toBe(200);
    const database = new DatabaseSync(path);
    database.exec("UPDATE entry SET text = 'damaged'");
    database.close();
    await gateway.restart();
    await ask("GET", queryOf("web.shop.svc.clusterset.local"));
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
    for (const name of readdirSync(gateway.stateDir, { recursive: true, encoding: "utf8" })) {
      const path = join(gateway.stateDir, name);
      const mode = (statSync(path).mode & 0o777).toString(8);
      const isPublic = name === "tls/self-signed.crt";
      expect([name, mode]).toEqual([name, isPublic ? "644" : expect.stringMatching(/^[67]00$/)]);
      if (name.endsWith(".key") || !statSync(path).isFile()) continue;
      expect(canaries.foundIn(name, readFileSync(path, "utf8"))).toEqual([]);
    }
  });
});
