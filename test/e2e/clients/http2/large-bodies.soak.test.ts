import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../../harness/cli.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { sha256, wholeBlob } from "./blob.ts";

const at = (name: string) => join(import.meta.dirname, name);
let server: ChildProcess;
let url: string;
let caFile: string;
let file: string;
let digest: string;

beforeAll(async () => {
  const folder = temporaryFolder("large-bodies");
  server = spawn(process.execPath, [at("blob-server.ts"), folder], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(server.stdout!, "data");
  url = `https://localhost:${String(port).trim()}/`;
  caFile = join(folder, "tls", "self-signed.crt");
  const body = await wholeBlob();
  digest = sha256(body);
  file = join(folder, "body");
  writeFileSync(file, body);
});
afterAll(() => server?.kill());

/** What a program printed, without its line ends. */
async function printed(command: string, args: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await runProgram(command, args);
  expect(stderr).toBe("");
  return stdout.trimEnd().split("\n");
}

describe("20 MiB go each way under flow control:", () => {
  test.each(["1.1", "2"])("curl, HTTP/%s", async (version) => {
    const flags = ["-sS", `--http${version}`, "--cacert", caFile, "-w", "\n%{http_version}"];
    const got = `${file}.${version}`;
    expect(await printed("curl", [...flags, "-o", got, url])).toEqual(["", version]);
    expect(sha256(readFileSync(got))).toBe(digest);
    const posted = await printed("curl", [...flags, "--data-binary", `@${file}`, url]);
    expect(posted).toEqual([digest, version]);
  });

  test.each([
    ["of the usual size", []],
    ["of 16 KiB", ["-w", "14", "-W", "14"]],
  ])("nghttp with windows %s", async (_, windows) => {
    const flags = ["--no-verify-peer", "--timeout=60", ...windows];
    const script = 'nghttp "$@" | sha256sum | cut -d" " -f1';
    expect(await printed("bash", ["-o", "pipefail", "-c", script, "bash", ...flags, url])).toEqual([digest]);
    expect(await printed("nghttp", [...flags, `--data=${file}`, url])).toEqual([digest]);
  });

  test("Go's net/http", async () => {
    expect(await printed("go", ["run", at("client.go"), caFile, url, file])).toEqual([
      "HTTP/2.0",
      digest,
      digest,
    ]);
  });

  test("Java's HttpClient", async () => {
    expect(await printed("java", [at("Blobs.java"), caFile, url, file])).toEqual(["HTTP_2", digest, digest]);
  });

  test("Python's httpx and h2", async () => {
    const dnspython = await ensureTool("dnspython");
    const args = [`PYTHONPATH=${dnspython}`, "python3", at("blobs.py"), caFile, url, file];
    expect(await printed("env", args)).toEqual(["HTTP/2", digest, digest]);
  });
});
