import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { run as runProgram } from "../../../src/hosts/cli/program.ts";
import { sha256 } from "../../access/authorities.ts";
import { folderOfTest } from "../../folders.ts";
import { makeAuthority, makeServer } from "../client-certificates.ts";
import { runCommand } from "./run-command.ts";

const run = (args: string[]) => runCommand(...args);

const SYNC = "sync --gateway https://a.example --token-file none";
const EXPORT = "export --federation prod --domain a.example";
const SERVER = "query --server https://doh.example";
const A = "examples/cluster-a";
const QUERY = `query --manifests ${A}`;
const WEB = "web.shop.svc.clusterset.local";

describe("the command line", () => {
  it.each(["serve", "sync", "check", "export", "query", "explain", "wait", "status", "token", "demo"])(
    "%s --help has an example",
    async (command) => {
      const { status, stdout } = await run([command, "--help"]);
      expect([status, stdout]).toEqual([0, expect.stringMatching(/Examples?:\n {2}clusterset-doh /)]);
    },
  );

  it.each<[string, RegExp]>([
    ["", /Usage: clusterset-doh/],
    ["bogus", /unknown command 'bogus'/],
    ["serve --bogus", /unknown option '--bogus'/],
    ["serve --listen nowhere", /"nowhere" is not an address to listen on/],
    ["serve --listen 0.0.0.0:0", /--public/],
    ["serve --config none.yaml", /cannot read the config file/],
    ["serve --cluster-token a=none", /cannot read the token file/],
    ["serve --log-level loud", /--log-level/],
    ["sync", /required option '--gateway/],
    ["sync --gateway x --token-file none", /--gateway "x" is not an address/],
    ["sync --gateway= --token-file none", /--gateway "" .*gateway in the ConfigMap sync-worker/],
    [`${SYNC} --cluster-id=`, /--cluster-id is empty: .*push\.credentials.*clusterId in the ConfigMap/],
    [`${SYNC} --listen 8080`, /"8080" is not an address to listen on/],
    [`${SYNC} --listen :8080 --once`, /--listen is for a worker that keeps running: leave out --once/],
    [SYNC, /cannot read the token file/],
    [`${SYNC} --manifests . --context c`, /--manifests reads no API server/],
    [`${SYNC} --pods insecure`, /--cluster-zone/],
    [`${SYNC} --cluster-zone a..b`, /--cluster-zone "a..b" must be a domain name such as cluster.local/],
    ["check", /missing required argument/],
    ["check --pods some .", /--pods <mode>' argument 'some' is invalid/],
    [`check --federation a.b ${A}`, /--federation "a.b": its name /],
    [`check --federation prod=,a..b ${A}`, /its domain must be a domain name/],
    [`check --federation prod=clusterset.local ${A}`, /clusterset\.local\. is claimed by federation prod/],
    [`check --view z ${A}`, /--view "z" is not one of/],
    [`check --speaks-for z=* ${A}`, /--speaks-for z: "z" is not one of the clusters: cluster-a/],
    ...["a", "a=", "=b", "a=B_", "a=b,"].map((grant): [string, RegExp] => [
      `check --speaks-for ${grant} ${A}`,
      /-for "a?.*" is not a grant such as hub=\*/,
    ]),
    [`check --exports z=shop ${A}`, /--exports z: "z" is not one of the clusters: cluster-a/],
    [`check --exports a ${A}`, /--exports "a" is not CLUSTER=SERVICES/],
    [`check --owner Shop=a ${A}`, /--owner "Shop=a" is not SERVICE=CLUSTER/],
    ["export .", /required option '--federation/],
    ["export --federation prod .", /required option '--domain/],
    [`export --federation a.b --domain a.test ${A}`, /--federation and --domain: its name /],
    [`export --federation prod --domain a..b ${A}`, /its domain must be a domain name/],
    [`${EXPORT} --name-server . ${A}`, /--name-server "." is not a host name/],
    [`${EXPORT} --format dnsendpoint --name-server ns.test ${A}`, /--name-server is for/],
    [`query -o xml ${WEB}`, /'xml' is invalid. Allowed choices are json, yaml, wide./],
    [`query --short -o json ${WEB}`, /cannot be used with option '-o, --output/],
    [`query ${WEB}`, /name one source/],
    [`${QUERY} --state-dir x ${WEB}`, /name one source/],
    [`${QUERY} a..b`, /empty label/],
    [`${QUERY} ${WEB} NOTHING`, /neither an RR type/],
    [`${QUERY} --view nowhere ${WEB}`, /not one of the clusters: cluster-a/],
    [`query --manifests /nonexistent ${WEB}`, /\/nonexistent/],
    [`query --state-dir /nonexistent ${WEB}`, /is not the state folder of a gateway/],
    [`query --server doh.example ${WEB}`, /is not an address such as/],
    ...["--zone x.example", "--owner shop/web=b", "--exports b=other", "--speaks-for b=*"].map(
      (flag): [string, RegExp] => [`${SERVER} ${flag} ${WEB}`, /is for --manifests and --state-dir: a gatew/],
    ),
    [`${SERVER} --client-key-file k ${WEB}`, /go together/],
  ])("%s explains the error and exits with 2", async (line, expected) => {
    const { status, stderr } = await run(line.split(" ").filter(Boolean));
    expect(stderr).toMatch(expected);
    expect(stderr).not.toContain("    at ");
    expect(status).toBe(2);
  });

  it("is kubectl clusterset where kubectl starts it, in usage, examples and errors", async () => {
    const lines: string[] = [];
    const output = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line) };
    const runPlugin = (...args: string[]) => runProgram(["node", "/bin/kubectl-clusterset", ...args], output);
    expect(await runPlugin("status", "--help")).toBe(0);
    expect(await runPlugin("query", "x", "--state-dir", "none")).toBe(2);
    expect(lines.join("\n")).toMatch(
      /^Usage: kubectl clusterset status .*^ {2}kubectl clusterset status .*^kubectl clusterset: /ms,
    );
    expect(lines.join("\n")).not.toContain("clusterset-doh ");
  });

  it.each([
    [["token"], /^[\w-]{43}$/],
    [["token", "--host-name"], /^[a-z2-7]{26,63}$/],
  ])("%j makes different tokens of at least 128 bits with their digests", async (args, pattern) => {
    const { stdout, stderr } = await run(args);
    expect(stdout).toMatch(pattern);
    expect(stderr).toBe(`tokenSha256: ${sha256(stdout)}`);
    expect((await run(args)).stdout).not.toBe(stdout);
  });

  it("token --out makes a file that only its owner may read, prints the hash alone, and never replaces a file", async () => {
    const file = join(folderOfTest(), "cluster-a.token");
    const { status, stdout, stderr } = await run(["token", "--out", file]);
    const token = readFileSync(file, "utf8");
    expect([status, stdout, stderr]).toEqual([0, "", `tokenSha256: ${sha256(token.trim())}`]);
    expect([token, statSync(file).mode & 0o777]).toEqual([expect.stringMatching(/^[\w-]{43}\n$/), 0o600]);
    const again = await run(["token", "--out", file]);
    expect(again).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("new files only") });
    expect(readFileSync(file, "utf8")).toBe(token);
  });
});

it.each([
  ["ends with 0 where /readyz is 200", 200, "doh.example", 0, "ready"],
  ["ends with 1 and its text where it is 503", 503, "doh.example", 1, "answered 503 HTTP_503: ready"],
  ["ends with 1 where the certificate lacks --server-name", 200, "a.example", 1, "not for a.example"],
])(
  "status --ready trusts a certificate that an authority issued by itself, and %s",
  async (_, code, name, status, said) => {
    const pair = await makeServer(await makeAuthority("private"), ["doh.example"], []);
    const server = createServer(pair, ({ url }, response) =>
      response.writeHead(url === "/readyz" ? code : 404).end("ready\n"),
    );
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const file = join(folderOfTest(), "tls.crt");
    writeFileSync(file, pair.cert);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ["status", "--ready", "--server", url, "--ca-file", file, "--server-name", name];
    const { stdout, stderr, ...printed } = await run(args);
    expect([printed.status, stdout + stderr]).toEqual([status, expect.stringContaining(said)]);
  },
);

it("the fingerprint of an untrusted certificate is that of the one for --server-name", async () => {
  const authority = await makeAuthority("private");
  const named = await makeServer(authority, ["gateway.internal"], []);
  const server = createServer(await makeServer(authority, ["other.example"], []));
  server.addContext("gateway.internal", named);
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stderr } = await run(["status", "--server", url, "--server-name", "gateway.internal"]);
  expect(stderr).toContain(`fingerprint is ${new X509Certificate(named.cert).fingerprint256}.`);
});
