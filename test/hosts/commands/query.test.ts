import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { nameFrom } from "../../../src/hosts/commands/query.ts";
import { sha256 } from "../../access/authorities.ts";
import { folderOfTest } from "../../folders.ts";
import { makeAuthority, makeServer } from "../client-certificates.ts";
import { runCommand as run } from "./run-command.ts";

const EXAMPLES = new URL("../../../examples/", import.meta.url).pathname;
const BOTH = ["--manifests", join(EXAMPLES, "cluster-a"), "--manifests", join(EXAMPLES, "cluster-b")];
const WEB = "web.shop.svc.clusterset.local";

let folder: string;
beforeEach(() => {
  folder = folderOfTest();
  // The client config of the user who runs the tests does not count.
  vi.stubEnv("XDG_CONFIG_HOME", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const PTR = `\tIN\tPTR\t${WEB}.`;
const MEANT = `; did you mean ${WEB}.`;
const DECIDED = "; type: ClusterSetIP, decided by cluster-a: it has the oldest ServiceExport";
const OWNER = "decided by cluster-b: the setting services names it as the owner";

describe("query in manifests", () => {
  it("prints the answer as a zone file", async () => {
    const { status, stdout } = await run("query", ...BOTH, WEB);
    expect(status).toBe(0);
    const records = stdout.split("\n").filter((line) => !line.startsWith(";"));
    expect(records).toEqual([`${WEB}.\t5\tIN\tA\t10.96.1.10`, `${WEB}.\t5\tIN\tA\t10.97.1.10`]);
    expect(stdout).toMatch(/^; NOERROR, from /);
    const seen = await run("query", ...BOTH, "--view", "cluster-b", "--short", WEB);
    expect(seen.stdout).toBe("10.97.1.10");
  });

  it.each<[claim: string, string[], number, ...parts: string[]]>([
    ["looks addresses up by their reverse name", ["query", "10.96.1.10"], 0, PTR],
    ["explains who decides", ["explain", WEB], 0, "; record A 10.97.1.10: from cluster-b", DECIDED],
    ["suggests a name that has records", ["explain", "wbe.shop.svc.clusterset.local"], 3, MEANT],
    ["exits with 3 for another type", ["query", WEB, "TXT"], 3, "; NOERROR"],
    ["exits with 1 out of zone", ["explain", "web.shop.svc.clusterst.local"], 1, MEANT],
    ["has the zones of --zone", ["query", "--zone", "a.example", "web.shop.svc.a.example"], 0, "10.96.1.10"],
    ["has the owners of --owner", ["explain", "--owner", "shop/web=cluster-b", WEB], 0, OWNER],
    ["has pins of --exports", ["explain", "--exports", "cluster-b=other", WEB], 0, "ExportNotAllowed"],
    ["-o wide names who reports a record", ["query", "-o", "wide", WEB], 0, "10.97.1.10 ; from cluster-b\n"],
  ])("%s", async (_, [command, ...args], status, ...parts) => {
    const printed = await run(command!, ...BOTH, ...args);
    expect(printed.status).toBe(status);
    for (const part of parts) expect(printed.stdout).toContain(part);
  });

  it("names problems of the manifests, and does not say that a name is missing where a file is broken", async () => {
    const west = join(folder, "west");
    mkdirSync(west);
    writeFileSync(join(west, "web.yaml"), "kind: [unclosed\n");
    const broken = await run("query", "--manifests", west, WEB);
    expect(broken.status).toBe(1);
    expect(broken.stderr).toMatch(/^problem: .*web\.yaml:2:1: /);
    expect((await run("query", ...BOTH, "--manifests", west, WEB)).status).toBe(0);
  });

  it.each(["web.shop", "shop/web", "WEB.Shop", `https://${WEB}:8080/path?a=b`, `${WEB}.`])(
    "takes %s for the service",
    async (name) => {
      const { status, stdout } = await run("query", ...BOTH, "--short", name);
      expect([status, stdout]).toEqual([0, "10.96.1.10\n10.97.1.10"]);
    },
  );

  it.each([
    ["example.com.", "example.com."],
    ["a.b.c", "a.b.c"],
    ["https://10.96.1.10/", "10.96.1.10"],
    ["https://[fd00::1]/", "fd00::1"],
    ["https://example.com/", "example.com"],
    ["shop/web/x", "shop/web/x"],
  ])("takes %s for %s", (text, name) => {
    expect(nameFrom(text)).toBe(name);
  });

  it("has the gateway of the environment, unless the command line names another source", async () => {
    vi.stubEnv("CLUSTERSET_DOH_SERVER", "https://localhost:1");
    expect((await run("query", ...BOTH, WEB)).status).toBe(0);
    for (const args of [["query", WEB], ["explain", WEB], ["wait", "--timeout", "1", WEB], ["status"]]) {
      const stderr = expect.stringMatching(
        /https:\/\/localhost:1 cannot be reached: .*: nothing listens there/,
      );
      expect(await run(...args)).toMatchObject({ status: 1, stderr });
    }
    expect((await run("query", ...BOTH, "--server", "https://localhost:1", WEB)).status).toBe(2);
  });

  it("never prints the token of a path, and takes the URL that other clients of DNS over HTTPS have", async () => {
    const server = createServer((request, response) =>
      response.writeHead(404, { "content-type": "text/plain" }).end(request.url!.replace(/secret/, "")),
    ).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/tokens/secret/dns-query`;
    const { stdout, stderr } = await run("query", "--server", url, WEB);
    expect(stdout + stderr).not.toContain("secret");
    expect(stderr).toMatch(/\/tokens\/… answered 404 .*: \/tokens\/\/dns-query/);
    expect(stderr).not.toContain("dns-query/dns-query");
  });

  it("prints the error of a server whose answer has no question", async () => {
    const refused = Buffer.from([0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0, 0]);
    const server = createServer((_, response) =>
      response.writeHead(200, { "content-type": "application/dns-message" }).end(refused),
    ).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { status, stdout, stderr } = await run("query", "--server", url, WEB);
    expect([status, stdout, stderr]).toEqual([
      1,
      expect.stringMatching(/^; REFUSED, from http:\S+ \d+ ms$/),
      "",
    ]);
  });

  it.each([
    ["query", ...BOTH, WEB],
    ["explain", ...BOTH, WEB],
    ["check", join(EXAMPLES, "cluster-a")],
  ])("%s has the same in YAML as in JSON", async (...args) => {
    const [json, yaml] = [await run(...args, "-o", "json"), await run(...args, "-o", "yaml")];
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  it("check -o wide names the clusters of a record", async () => {
    const checked = await run("check", ...BOTH.filter((arg) => arg !== "--manifests"), "-o", "wide");
    expect(checked.stdout).toMatch(/^web\.shop\S+\t5\tIN\tA\t10\.97\.1\.10 ; of cluster-a, cluster-b$/m);
  });

  it("prints JSON with answer and explanation", async () => {
    const { stdout } = await run("explain", ...BOTH, "-o", "json", WEB);
    expect(JSON.parse(stdout)).toMatchObject({
      answer: { Status: 0, Answer: [{ data: "10.96.1.10" }, { data: "10.97.1.10" }] },
      explanation: {
        code: "ANSWERED",
        service: { exporters: [{ clusterId: "cluster-a" }, { clusterId: "cluster-b" }] },
      },
    });
    const answered = await run("query", ...BOTH, "-o", "json", WEB);
    expect(Object.keys(JSON.parse(answered.stdout))).toEqual(["answer"]);
  });
});

it("wait prints an error once while it lasts, and why there is no answer when its time is up", async () => {
  const { status, stderr } = await run("wait", "--server", "https://127.0.0.1:1", "--timeout", "2", WEB);
  const error = expect.stringMatching(/^https:\/\/127\.0\.0\.1:1 cannot be reached: /);
  const end = `${WEB} is not answered with records after 2 s:`;
  expect([status, ...stderr.trim().split("\n")]).toEqual([1, error, end, error]);
});

describe("the client config", () => {
  const write = (text: string) => {
    mkdirSync(join(folder, "clusterset-doh"));
    writeFileSync(join(folder, "clusterset-doh/config.yaml"), text);
  };

  it.each([
    ["the config file", {}, [], /^clusterset-doh: cannot read \/\S+\/clusterset-doh\/ca\.crt/],
    ["the environment", { CLUSTERSET_DOH_CA_FILE: "/env.crt" }, [], /cannot read \/env\.crt/],
    ["a flag", { CLUSTERSET_DOH_CA_FILE: "/env.crt" }, ["--ca-file", "/flag.crt"], /cannot read \/flag\.crt/],
    ["the file for its gateway alone", {}, ["--server", "https://localhost:2"], /localhost:2 cannot be rea/],
  ])("gives options of %s", async (_, environment, args, message) => {
    write("server: https://localhost:1\ncaFile: ca.crt\n");
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    for (const command of [["query", WEB], ["explain", WEB], ["wait", "--timeout", "1", WEB], ["status"]])
      expect((await run(...command, ...args)).stderr).toMatch(message);
    expect((await run("query", ...BOTH, WEB)).status).toBe(0);
  });

  it.each([
    ["server: https://a\ntoken: x", /config\.yaml:2: token: this key does not .*: did you mean tokenFile\?/],
    ["server: https://a\nx: y", /x: this key does not exist: the keys here are server, serverName, caFile, /],
    ["server: localhost", /config\.yaml:1: server: must be an address such as/],
  ])("%j is an error that says where, and what is right", async (text, message) => {
    write(text);
    const { status, stderr } = await run("status");
    expect([status, stderr]).toEqual([2, expect.stringMatching(message)]);
    // It says nothing of another gateway.
    const other = await run("status", "--server", "https://localhost:2");
    expect(other.stderr).toContain("localhost:2 cannot be reached");
  });

  it("is the file of CLUSTERSET_DOH_CONFIG, which has to exist", async () => {
    vi.stubEnv("CLUSTERSET_DOH_CONFIG", join(folder, "none.yaml"));
    expect(await run("status")).toMatchObject({ status: 2, stderr: expect.stringContaining("none.yaml") });
  });
});

describe("serve --check-config", () => {
  const check = (text: string, ...args: string[]) => {
    const file = join(folder, "gateway.yaml");
    writeFileSync(file, text);
    return run("serve", "--check-config", "--config", file, "--state-dir", join(folder, "state"), ...args);
  };

  it("prints that a configuration is valid, and writes nothing", async () => {
    const text = "zones: [corp.example]\naccess: { public: true }\naudit: { logFile: audit.log }\n";
    const { status, stdout } = await check(text);
    expect(status).toBe(0);
    expect(stdout).toContain("the configuration is valid: zones");
    expect(stdout).toContain("corp.example");
    expect(existsSync(join(folder, "state"))).toBe(false);
    expect(readdirSync(folder)).toEqual(["gateway.yaml"]);
  });

  it("leaves an audit log that is there as it is", async () => {
    writeFileSync(join(folder, "audit.log"), "a line\n");
    expect(await check("access: { public: true }\naudit: { logFile: audit.log }\n")).toMatchObject({
      status: 0,
    });
    expect(readFileSync(join(folder, "audit.log"), "utf8")).toBe("a line\n");
  });

  it("exits with 2 for a certificate that has expired, which no client accepts", async () => {
    const { cert, key } = await makeServer(await makeAuthority("a"), ["doh.example"], [], -1);
    writeFileSync(join(folder, "tls.crt"), cert);
    writeFileSync(join(folder, "tls.key"), key);
    const stderr = expect.stringMatching(/tls\.certificateFile: the certificate expired at 2.*replace it/);
    const checked = check("tls: { certificateFile: tls.crt, keyFile: tls.key }\n");
    expect(await checked).toMatchObject({ status: 2, stderr });
  });

  it("exits with 2 for two clusters with one token, and so does the gateway where a file has it", async () => {
    const token = join(folder, "one.token");
    writeFileSync(token, "a".repeat(32));
    const said = /clusters a and b have one token.*clusterset-doh token --out b\.token/;
    const flags = ["a", "b"].flatMap((id) => ["--cluster-token", `${id}=${token}`]);
    const expected = { status: 2, stderr: expect.stringMatching(said) };
    const serve = ["serve", "--listen", "127.0.0.1:0", "--state-dir", join(folder, "state"), ...flags];
    for (const args of [["--check-config"], []]) expect(await run(...serve, ...args)).toMatchObject(expected);
    const hash = sha256("t");
    const list = [
      `{ clusterId: a, tokenSha256: ${hash} }`,
      `{ clusterId: b, tokenSha256: ${hash.toUpperCase()} }`,
    ];
    expect(await check(`push: { credentials: [${list}] }\n`)).toMatchObject(expected);
  });

  it.each([
    ["zones: [a..b]\n", "zones"],
    ["transfer: { keyFile: /none/key }\n", "cannot read the key file: "],
    ["tls: { clientCaFile: /none/ca.crt }\n", "cannot read /none/ca.crt"],
    ["push: { credentials: [{ clusterId: east, tokenFile: /none/east.token }] }\n", "/none/east.token"],
    ["tls: { certificateFile: /none/a.crt, keyFile: /none/a.key }\n", "/none/a.crt"],
    ["forward: { upstreams: [{ server: https://a.test/dns-query, tokenFile: /none/t }] }\n", "/none/t"],
    ["store: { url: redis://valkey, passwordFile: /none/password }\n", "cannot read the password file: "],
    ["store: { url: rediss://valkey, caFile: /none/ca.crt }\n", "/none/ca.crt"],
    ["audit: { logFile: /none/audit.log }\n", "audit.logFile: cannot open the file: "],
    ["audit: { logFile: / }\n", "audit.logFile: cannot open the file: EISDIR"],
  ])("exits with 2 for %j", async (text, message) => {
    const { status, stderr } = await check(text);
    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});
