import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run as runProgram } from "../../../src/hosts/cli/program.ts";

const bin = fileURLToPath(new URL("../../../bin/clusterset-doh.js", import.meta.url));

let folder: string;
const children: ChildProcessWithoutNullStreams[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-cli-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  rmSync(folder, { recursive: true });
});

/** Runs a command in this process. */
async function run(args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const argv = ["node", "clusterset-doh", ...args];
  const status = await runProgram(argv, { out: (line) => out.push(line), err: (line) => err.push(line) });
  return { status, stdout: out.join("\n"), stderr: err.join("\n") };
}

/** Runs a command as a process until it ends. */
const spawnProgram = (args: string[], nodeArgs: string[] = []) =>
  spawnSync(process.execPath, [...nodeArgs, bin, ...args], { cwd: folder, encoding: "utf8" });

type LogLine = Record<string, unknown>;

/** A long-running command with its log; `until` waits for an event in the log. */
function start(args: string[]) {
  const child = spawn(process.execPath, [bin, ...args], { cwd: folder });
  children.push(child);
  const lines: LogLine[] = [];
  let rest = "";
  let notify = () => {};
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    lines.push(...parts.map((line) => JSON.parse(line) as LogLine));
    notify();
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const until = async (event: string): Promise<LogLine> => {
    for (;;) {
      const found = lines.find((line) => line.event === event);
      if (found !== undefined) return found;
      const more = new Promise<void>((resolve) => {
        notify = resolve;
      });
      const ended = await Promise.race([more.then(() => false), exited.then(() => true)]);
      if (ended) throw new Error(`ended before ${event}: ${JSON.stringify(lines)} ${rest}`);
    }
  };
  return { child, lines, exited, until };
}

function get(url: string, ca: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request(url, { ca, agent: false }, async (response) => {
      let text = "";
      for await (const part of response) text += part;
      resolve({ status: response.statusCode ?? 0, text });
    })
      .on("error", reject)
      .end();
  });
}

describe("the command line", () => {
  it.each(["serve", "sync", "check", "export", "token", "demo"])(
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

  it("prints no stack when stdout is closed early", () => {
    const directory = join(folder, "cluster-a");
    mkdirSync(directory);
    writeFileSync(join(directory, "a.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
    const piped = spawnSync("sh", ["-c", `"${process.execPath}" "${bin}" check "${directory}" | head -c 1`], {
      encoding: "utf8",
    });
    expect(piped.stderr).not.toContain("    at ");
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

describe("an old Node", () => {
  const pretend = (version: string) => [
    "--import",
    `data:text/javascript,if(!process.env.AGAIN)Object.defineProperty(process.versions,"node",{value:"${version}"});process.env.AGAIN="1"`,
  ];

  it.each(["20.20.2", "22.18.0"])("%s starts the checkout's own Node", (version) => {
    const { status, stdout } = spawnProgram(["--version"], pretend(version));
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(status).toBe(0);
    expect(spawnProgram(["bogus"], pretend(version)).status).toBe(2);
  });

  it("gets a message with the required version if there is no other", () => {
    const alone = join(folder, "bin");
    mkdirSync(alone);
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(alone, "clusterset-doh.js"), readFileSync(bin));
    const args = [...pretend("20.20.2"), join(alone, "clusterset-doh.js")];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stderr).toContain("needs Node.js 22.19 or newer; this is 20.20.2");
    expect(status).toBe(2);
  });
});

describe("serve", () => {
  it("listens, logs JSON lines, and stops cleanly on SIGTERM", async () => {
    const { child, exited, until, lines } = start([
      "serve",
      "--listen",
      "localhost:0",
      "--state-dir",
      "state",
    ]);
    const { url, zones } = await until("listening");
    expect(zones).toEqual(["clusterset.local"]);
    await until("no-credentials");
    const ca = readFileSync(join(folder, "state", "tls", "self-signed.crt"), "utf8");
    expect(await get(`${url}/healthz`, ca)).toEqual({ status: 200, text: "ok\n" });
    expect((await get(`${url}/readyz`, ca)).status).toBe(503);
    expect((await get(`${url}/metrics`, ca)).text).toContain("clusterset_doh_ready 0");
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
    expect(lines.at(-1)).toMatchObject({ level: "info", command: "serve", event: "stopped" });
  });

  it("does not share its state folder", async () => {
    const first = start(["serve", "--listen", "localhost:0", "--state-dir", "state"]);
    await first.until("listening");
    const { status, stderr } = spawnProgram([
      "serve",
      "--listen",
      "localhost:0",
      "--state-dir",
      "state",
      "--log-level",
      "error",
    ]);
    expect(stderr).toMatch(/^clusterset-doh: the state folder state: /);
    expect(status).toBe(2);
  });

  it("names a port that is in use", async () => {
    const first = start(["serve", "--listen", "127.0.0.1:0", "--state-dir", "state"]);
    const { url } = await first.until("listening");
    const { host } = new URL(String(url));
    const { status, stderr } = spawnProgram([
      "serve",
      "--listen",
      host,
      "--state-dir",
      "other",
      "--log-level",
      "error",
    ]);
    expect(stderr).toBe(
      `clusterset-doh: ${host} is taken: stop the program that listens there, or choose another --listen HOST:PORT\n`,
    );
    expect(status).toBe(2);
  });
});

describe("serve and sync", () => {
  it("answer from manifests, also after a restart", async () => {
    const directory = join(folder, "cluster-a");
    mkdirSync(directory);
    writeFileSync(
      join(directory, "web.yaml"),
      `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { type: LoadBalancer, clusterIP: 10.96.0.1, ports: [{ name: http, port: 80 }] }
status: { loadBalancer: { ingress: [{ ip: 192.0.2.1 }] } }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: web, namespace: shop }
`,
    );
    writeFileSync(join(folder, "a.token"), (await run(["token"])).stdout);
    const serve = [
      "serve",
      "--listen",
      "127.0.0.1:0",
      "--state-dir",
      "state",
      "--cluster-token",
      "cluster-a=a.token",
    ];
    const gateway = start(serve);
    const { url } = await gateway.until("listening");
    const caFile = join(folder, "state", "tls", "self-signed.crt");
    const ca = readFileSync(caFile, "utf8");
    const pushed = spawnProgram([
      ...["sync", "--once", "--manifests", directory, "--cluster-id", "cluster-a"],
      ...["--gateway", String(url), "--ca-file", caFile, "--token-file", "a.token"],
    ]);
    expect(pushed.stderr).toContain('"level":"info"');
    expect(pushed.status).toBe(0);
    const ask = async (at: unknown) =>
      JSON.parse((await get(`${at}/resolve?name=web.shop.svc.clusterset.local`, ca)).text) as {
        Answer?: { data: string }[];
      };
    expect((await ask(url)).Answer?.map(({ data }) => data)).toEqual(["192.0.2.1"]);
    gateway.child.kill("SIGKILL");
    await gateway.exited;
    const again = start(serve);
    expect((await ask((await again.until("listening")).url)).Answer?.map(({ data }) => data)).toEqual([
      "192.0.2.1",
    ]);
  });
});
