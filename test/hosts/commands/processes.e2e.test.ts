import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

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

it("prints no stack when stdout is closed early", () => {
  const directory = join(folder, "cluster-a");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
  const piped = spawnSync("sh", ["-c", `"${process.execPath}" "${bin}" check "${directory}" | head -c 1`], {
    encoding: "utf8",
  });
  expect(piped.stderr).not.toContain("    at ");
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
    writeFileSync(join(folder, "a.token"), spawnProgram(["token"]).stdout);
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
