import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { folderOfTests } from "../folders.ts";

const script = fileURLToPath(new URL("../../scripts/audit.ts", import.meta.url));
const advisory = {
  id: 1,
  url: "https://advisories.example/1",
  title: "It does harm",
  severity: "high",
  vulnerable_versions: "<2.0.0",
  cwe: [],
  cvss: { score: 0, vectorString: null },
};

const folder = folderOfTests();
let server: Server;
let registry: string;
let answer: { status: number; body: unknown };
let asked: string[];

beforeAll(async () => {
  const root = { name: "audited", version: "1.0.0", dependencies: { harmful: "1.0.0" } };
  const harmful = { version: "1.0.0", integrity: `sha512-${"A".repeat(86)}==` };
  const packages = { "": root, "node_modules/harmful": harmful };
  const lock = { ...root, lockfileVersion: 3, requires: true, packages };
  for (const [name, content] of Object.entries({ package: root, "package-lock": lock }))
    await writeFile(join(folder, `${name}.json`), JSON.stringify(content));
  const versions = { "1.0.0": { name: "harmful", version: "1.0.0" } };
  const known = { status: 200, body: { name: "harmful", versions } };
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const { status, body } = request.url!.endsWith("/advisories/bulk") ? answer : known;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
});

function audit(at: string): Promise<{ code: number | null; output: string }> {
  asked = [];
  const flags = ["--registry", at, "--fetch-retries=0", "--cache", join(folder, "cache")];
  const child = spawn(process.execPath, [script, ...flags], { cwd: folder });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output })));
}

test("no advisory", async () => {
  answer = { status: 200, body: {} };
  expect(await audit(registry)).toMatchObject({ code: 0, output: expect.stringContaining("no advisory") });
  expect(asked).toContain("POST /-/npm/v1/security/advisories/bulk");
});

test("an advisory fails, and is reported", async () => {
  answer = { status: 200, body: { harmful: [advisory] } };
  expect(await audit(registry)).toMatchObject({
    code: 1,
    output: expect.stringContaining("high: harmful: It does harm (<2.0.0) https://advisories.example/1"),
  });
});

test("a registry without advisories, or none at all, is neither", async () => {
  answer = { status: 405, body: {} };
  for (const [at, said] of [
    [registry, "says nothing about the packages: 405 Method Not Allowed"],
    ["http://127.0.0.1:9/", "ECONNREFUSED"],
  ] as const)
    expect(await audit(at)).toMatchObject({ code: 3, output: expect.stringContaining(said) });
});
