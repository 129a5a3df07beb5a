import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run as runProgram } from "../../../src/hosts/cli/program.ts";
import { folderOfTest } from "../../folders.ts";
import { makeAuthority, makeServer } from "../client-certificates.ts";
import { runCommand } from "./run-command.ts";

const run = (args: string[]) => runCommand(...args);

describe("the command line", () => {
  it.each(["serve", "sync", "check", "export", "query", "explain", "wait", "status", "token", "demo"])(
    "%s --help has an example",
    async (command) => {
      const { status, stdout } = await run([command, "--help"]);
      expect(status).toBe(0);
      expect(stdout).toMatch(/Examples?:\n {2}clusterset-doh /);
    },
  );

  it.each([
    [[], /Usage: clusterset-doh/],
    [["bogus"], /unknown command 'bogus'/],
    [["serve", "--bogus"], /unknown option '--bogus'/],
    [["serve", "--listen", "nowhere"], /"nowhere" is not an address to listen on/],
    [["serve", "--config", "none.yaml"], /cannot read the config file/],
    [["serve", "--cluster-token", "a=none"], /cannot read the token file/],
    [["serve", "--log-level", "loud"], /--log-level/],
    [["sync"], /required option '--gateway/],
    [["sync", "--gateway", "x", "--token-file", "none"], /--gateway "x" is not an address/],
    [
      ["sync", "--gateway", "", "--token-file", "none"],
      /--gateway "" .*gateway in the ConfigMap sync-worker/,
    ],
    [
      ["sync", "--gateway", "https://a.example", "--token-file", "none", "--cluster-id="],
      /--cluster-id is empty: .*push\.credentials.*clusterId in the ConfigMap sync-worker/,
    ],
    [["sync", "--gateway", "https://a.example", "--token-file", "none"], /cannot read the token file/],
    [
      ["sync", "--gateway", "https://a.example", "--token-file", "x", "--manifests", ".", "--context", "c"],
      /--manifests reads no API server/,
    ],
    [["sync", "--gateway", "https://a.example", "--token-file", "x", "--pods", "insecure"], /--cluster-zone/],
    [
      ["sync", "--gateway", "https://a.example", "--token-file", "x", "--cluster-zone", "a..b"],
      /--cluster-zone "a..b" must be a domain name such as cluster.local/,
    ],
    [["check", "--pods", "some", "."], /--pods <mode>' argument 'some' is invalid/],
    [["check"], /missing required argument/],
    [["check", "--federation", "a.b", "."], /--federation "a.b": its name /],
    [["check", "--federation", "prod=,a..b", "."], /its domain must be a domain name/],
    [["export", "."], /required option '--federation/],
    [["export", "--federation", "prod", "."], /required option '--domain/],
    [["export", "--federation", "prod", "--domain", "a..b", "."], /its domain must be a domain name/],
    [["export", "--federation", "prod", "--domain", "a.example", "none"], /none: ENOENT/],
    [
      ["export", "--federation", "prod", "--domain", "a.example", "--name-server", ".", "."],
      /not a host name/,
    ],
    [["check", "none"], /none: ENOENT/],
  ])("%j explains the error and exits with 2", async (args, expected) => {
    const { status, stderr } = await run(args);
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

  it("makes different tokens with their digests", async () => {
    const first = await run(["token"]);
    expect(first.stdout).toMatch(/^[\w-]{43}$/);
    const digest = createHash("sha256").update(first.stdout).digest("hex");
    expect(first.stderr).toBe(`tokenSha256: ${digest}`);
    expect((await run(["token"])).stdout).not.toBe(first.stdout);
  });

  it("makes tokens for host names: labels of at least 128 bits", async () => {
    const first = await run(["token", "--host-name"]);
    const token = first.stdout.trim();
    expect(token).toMatch(/^[a-z2-7]{26,63}$/);
    expect(first.stderr).toBe(`tokenSha256: ${createHash("sha256").update(token).digest("hex")}`);
    expect((await run(["token", "--host-name"])).stdout).not.toBe(first.stdout);
  });

  it("does not listen on other addresses than loopback without access rules", async () => {
    const { status, stderr } = await run(["serve", "--listen", "0.0.0.0:0"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("--public")]);
  });
});

describe("status --ready trusts a certificate that an authority issued by itself, and", () => {
  it.each([
    ["ends with 0 where /readyz is 200", 200, "doh.example", { status: 0, stdout: "ready" }],
    [
      "ends with 1 and its text where it is 503",
      503,
      "doh.example",
      { status: 1, stderr: expect.stringContaining("answered 503 HTTP_503: ready") },
    ],
    [
      "ends with 1 where the certificate lacks --server-name",
      200,
      "other.example",
      { status: 1, stderr: expect.stringContaining("not for other.example") },
    ],
  ])("%s", async (_, code, name, expected) => {
    const pair = await makeServer(await makeAuthority("private"), ["doh.example"], []);
    const server = createServer(pair, ({ url }, response) =>
      response.writeHead(url === "/readyz" ? code : 404).end("ready\n"),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const folder = folderOfTest();
    const file = join(folder, "tls.crt");
    writeFileSync(file, pair.cert);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ["status", "--ready", "--server", url, "--ca-file", file, "--server-name", name];
    expect(await run(args)).toMatchObject(expected);
    await new Promise((resolve) => server.close(resolve));
  });
});
