import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { nameFrom } from "../../../src/hosts/commands/query.ts";
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

describe("query in manifests", () => {
  it("prints the answer as a zone file", async () => {
    const { status, stdout } = await run("query", ...BOTH, WEB);
    expect(status).toBe(0);
    const records = stdout.split("\n").filter((line) => !line.startsWith(";"));
    expect(records).toEqual([`${WEB}.\t5\tIN\tA\t10.96.1.10`, `${WEB}.\t5\tIN\tA\t10.97.1.10`]);
    expect(stdout).toMatch(/^; NOERROR, from /);
  });

  it("explains who reports each record and who decides", async () => {
    const { stdout } = await run("explain", ...BOTH, WEB);
    expect(stdout).toContain("; record A 10.97.1.10: from cluster-b");
    expect(stdout).toContain("; type: ClusterSetIP, decided by cluster-a: it has the oldest ServiceExport");
    expect(stdout).not.toContain("lease");
  });

  it("has the view of a cluster, and looks addresses up by their reverse name", async () => {
    const seen = await run("query", ...BOTH, "--view", "cluster-b", WEB);
    expect(seen.stdout).toContain("10.97.1.10");
    expect(seen.stdout).not.toContain("10.96.1.10");
    const reverse = await run("query", ...BOTH, "10.96.1.10");
    expect(reverse.status).toBe(0);
    expect(reverse.stdout).toContain(`\tIN\tPTR\t${WEB}.`);
  });

  it("exits with 3 and a suggestion where there is no record, with 1 where the answer is REFUSED", async () => {
    const missing = await run("explain", ...BOTH, "wbe.shop.svc.clusterset.local");
    expect(missing.status).toBe(3);
    expect(missing.stdout).toContain(`; did you mean ${WEB}.`);
    expect((await run("query", ...BOTH, WEB, "TXT")).status).toBe(3);
    const outside = await run("explain", ...BOTH, "web.shop.svc.clusterst.local");
    expect(outside.status).toBe(1);
    expect(outside.stdout).toContain(`; did you mean ${WEB}.`);
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
    ["10.96.1", "10.96.1"],
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
      const { status, stderr } = await run(...args);
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(/https:\/\/localhost:1 cannot be reached: .*: nothing listens there/),
      ]);
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

  it.each([
    ["query", ...BOTH, WEB],
    ["explain", ...BOTH, WEB],
    ["check", join(EXAMPLES, "cluster-a")],
  ])("%s has the same in YAML as in JSON", async (...args) => {
    const [json, yaml] = [await run(...args, "-o", "json"), await run(...args, "-o", "yaml")];
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  it("-o wide names the clusters that report a record, behind it", async () => {
    const { stdout } = await run("query", ...BOTH, "-o", "wide", WEB);
    expect(stdout).toContain("\tA\t10.97.1.10 ; from cluster-b\n");
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
    expect(Object.keys(JSON.parse((await run("query", ...BOTH, "-o", "json", WEB)).stdout))).toEqual([
      "answer",
    ]);
  });

  it("applies --zone, --owner and --exports as serve does", async () => {
    const other = await run("query", ...BOTH, "--zone", "corp.example", "web.shop.svc.corp.example");
    expect(other.status).toBe(0);
    const owned = await run("explain", ...BOTH, "--owner", "shop/web=cluster-b", WEB);
    expect(owned.stdout).toContain("decided by cluster-b: the setting services names it as the owner");
    const limited = await run("explain", ...BOTH, "--exports", "cluster-b=other", WEB);
    expect(limited.stdout).toContain("ExportNotAllowed");
  });

  it.each([
    [["-o", "xml", WEB], "'xml' is invalid. Allowed choices are json, yaml, wide."],
    [["--short", "-o", "json", WEB], "cannot be used with option '-o, --output"],
    [[WEB], "name one source"],
    [[...BOTH, "--state-dir", "x", WEB], "name one source"],
    [[...BOTH, "a..b"], "empty label"],
    [[...BOTH, WEB, "NOTHING"], "neither an RR type"],
    [[...BOTH, "--view", "nowhere", WEB], "not one of the clusters: cluster-a, cluster-b"],
    [["--manifests", "/nonexistent", WEB], "/nonexistent"],
    [["--state-dir", "/nonexistent", WEB], "is not the state folder of a gateway"],
    [["--server", "doh.example", WEB], "is not an address such as"],
    ...[
      ["--zone", "x.example"],
      ["--owner", "shop/web=cluster-b"],
      ["--exports", "cluster-b=other"],
      ["--speaks-for", "cluster-b=*"],
    ].map(([flag, value]): [string[], string] => [
      ["--server", "https://doh.example", flag!, value!, WEB],
      `${flag} is for --manifests and --state-dir: a gateway has its own settings`,
    ]),
    [["--server", "https://doh.example", "--client-key-file", "k", WEB], "go together"],
  ])("%j is a usage error", async (args, message) => {
    const { status, stderr } = await run("query", ...(args as string[]));
    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});

describe("wait", () => {
  it("prints an error once while it lasts, and why there is no answer when its time is up", async () => {
    const { status, stderr } = await run("wait", "--server", "https://127.0.0.1:1", "--timeout", "2", WEB);
    const error = expect.stringMatching(/^https:\/\/127\.0\.0\.1:1 cannot be reached: /);
    const end = `${WEB} is not answered with records after 2 s:`;
    expect([status, ...stderr.trim().split("\n")]).toEqual([1, error, end, error]);
  });
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
    [
      "the file for its gateway alone",
      {},
      ["--server", "https://localhost:2"],
      /localhost:2 cannot be reached/,
    ],
  ])("gives options of %s", async (_, environment, args, message) => {
    write("server: https://localhost:1\ncaFile: ca.crt\n");
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    for (const command of [["query", WEB], ["explain", WEB], ["wait", "--timeout", "1", WEB], ["status"]])
      expect((await run(...command, ...args)).stderr).toMatch(message);
    expect((await run("query", ...BOTH, WEB)).status).toBe(0);
  });

  it.each([
    [
      "server: https://localhost:1\ntoken: x",
      /config\.yaml:2: token: this key does not exist: did you mean tokenFile\?/,
    ],
    [
      "server: https://localhost:1\nx: y",
      /x: this key does not exist: the keys here are server, serverName, caFile, /,
    ],
    ["server: localhost", /config\.yaml:1: server: must be an address such as/],
  ])("%j is an error that says where, and what is right", async (text, message) => {
    write(text);
    const { status, stderr } = await run("status");
    expect([status, stderr]).toEqual([2, expect.stringMatching(message)]);
    // It says nothing of another gateway.
    expect((await run("status", "--server", "https://localhost:2")).stderr).toContain(
      "localhost:2 cannot be reached",
    );
  });

  it("is the file of CLUSTERSET_DOH_CONFIG, which has to exist", async () => {
    vi.stubEnv("CLUSTERSET_DOH_CONFIG", join(folder, "none.yaml"));
    expect(await run("status")).toMatchObject({ status: 2, stderr: expect.stringContaining("none.yaml") });
  });
});

describe("token --out", () => {
  it("makes a file that only its owner may read, and prints the hash alone", async () => {
    const file = join(folder, "cluster-a.token");
    const { status, stdout, stderr } = await run("token", "--out", file);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(/^tokenSha256: [0-9a-f]{64}$/);
  });

  it("never replaces a file", async () => {
    const file = join(folder, "used.token");
    writeFileSync(file, "in use\n");
    const { status, stdout, stderr } = await run("token", "--out", file);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain("makes new files only");
    expect(readFileSync(file, "utf8")).toBe("in use\n");
  });
});

describe("serve --check-config", () => {
  const check = (text: string, ...args: string[]) => {
    const file = join(folder, "gateway.yaml");
    writeFileSync(file, text);
    return run("serve", "--check-config", "--config", file, "--state-dir", join(folder, "state"), ...args);
  };

  it("prints that a configuration is valid, and writes nothing", async () => {
    const { status, stdout } = await check("zones: [corp.example]\naccess: { public: true }\n");
    expect(status).toBe(0);
    expect(stdout).toContain("the configuration is valid: zones");
    expect(stdout).toContain("corp.example");
    expect(existsSync(join(folder, "state"))).toBe(false);
    expect(readdirSync(folder)).toEqual(["gateway.yaml"]);
  });

  it("exits with 2 for a certificate that has expired, which no client accepts", async () => {
    const { cert, key } = await makeServer(await makeAuthority("a"), ["doh.example"], [], -1);
    writeFileSync(join(folder, "tls.crt"), cert);
    writeFileSync(join(folder, "tls.key"), key);
    const { status, stderr } = await check("tls: { certificateFile: tls.crt, keyFile: tls.key }\n");
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/tls\.certificateFile: the certificate expired at 2.*replace it/),
    ]);
  });

  it("exits with 2 for two clusters with one token, and so does the gateway where a file has it", async () => {
    const token = join(folder, "one.token");
    writeFileSync(token, "a".repeat(32));
    const said = /clusters a and b have one token.*clusterset-doh token --out b\.token/;
    const flags = ["a", "b"].flatMap((id) => ["--cluster-token", `${id}=${token}`]);
    for (const args of [["--check-config"], []]) {
      const { status, stderr } = await run(
        "serve",
        ...args,
        "--listen",
        "127.0.0.1:0",
        "--state-dir",
        join(folder, "state"),
        ...flags,
      );
      expect([status, stderr]).toEqual([2, expect.stringMatching(said)]);
    }
    const hash = createHash("sha256").update("t").digest("hex");
    const hashes = [hash, hash.toUpperCase()];
    const list = ["a", "b"]
      .map((clusterId, at) => `{ clusterId: ${clusterId}, tokenSha256: ${hashes[at]} }`)
      .join();
    const { status, stderr } = await check(`push: { credentials: [${list}] }\n`);
    expect([status, stderr]).toEqual([2, expect.stringMatching(said)]);
  });

  it.each([
    ["zones: [a..b]\n", "zones"],
    ["transfer: { keyFile: /nonexistent/key }\n", "cannot read the key file: "],
    [
      "store: { url: redis://localhost, passwordFile: /nonexistent/password }\n",
      "cannot read the password file: ",
    ],
    ["tls: { clientCaFile: /nonexistent/ca.crt }\n", "cannot read /nonexistent/ca.crt"],
    [
      "push: { credentials: [{ clusterId: east, tokenFile: /nonexistent/east.token }] }\n",
      "/nonexistent/east.token",
    ],
    ["tls: { certificateFile: /nonexistent/a.crt, keyFile: /nonexistent/a.key }\n", "/nonexistent/a.crt"],
    [
      "forward: { upstreams: [{ server: https://dns.example/dns-query, tokenFile: /nonexistent/t }] }\n",
      "/nonexistent/t",
    ],
    ["store: { url: redis://valkey, passwordFile: /nonexistent/password }\n", "/nonexistent/password"],
    ["store: { url: rediss://valkey, caFile: /nonexistent/ca.crt }\n", "/nonexistent/ca.crt"],
  ])("exits with 2 for %j", async (text, message) => {
    const { status, stderr } = await check(text);
    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});
