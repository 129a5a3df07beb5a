import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { checkout, runProgram } from "../../harness/cli.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { Canaries } from "./canaries.ts";

const canaries = new Canaries();
const folder = temporaryFolder("misplaced-secrets");
let files = 0;
const file = (name: string, text: string) => {
  const path = join(folder, `${++files}-${name}`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};
const END = "== end of a command with ";
/** Runs commands one after the other in one process, and writes `END` and the exit code behind each. */
const PROGRAM = `
import { run } from ${JSON.stringify(pathToFileURL(join(checkout, "src/hosts/cli/program.ts")))};
const [out, err] = [process.stdout, process.stderr].map((stream) => (line) => stream.write(line + "\\n"));
for (const args of JSON.parse(process.argv[2])) {
  const code = await run(["node", "clusterset-doh", ...args], { out, err });
  for (const write of [out, err]) write(${JSON.stringify(END)} + code);
}`;

test.each<[string, (secret: string) => string]>([
  ["unchanged", (secret) => secret],
  ["cut", (secret) => `…${secret.slice(0, 30)}…`],
  ["in basic credentials", (secret) => Buffer.from(`user:${secret}`).toString("base64")],
  ["in basic credentials of others", (secret) => Buffer.from(`ci:${secret}`).toString("base64url")],
  ["as a hash", (secret) => createHash("sha256").update(secret).digest("hex")],
])("the search finds a secret %s", (_, encoded) => {
  const own = new Canaries();
  const secret = own.make("secret");
  expect(own.foundIn("here", `nothing`)).toEqual([]);
  expect(own.foundIn("here", `x ${encoded(secret)} y`)).not.toEqual([]);
});

describe("a configuration with a secret in the wrong place is rejected without printing it", () => {
  const credential = (more: object) => ({ push: { credentials: [{ clusterId: "east", ...more }] } });
  const upstream = (server: string) => ({ outsideZones: "forward", forward: { upstreams: [server] } });
  const oidc = { issuer: "https://issuer.example", subject: "x" };
  const keys = (key: object) => credential({ oidc: { ...oidc, jwks: { keys: [key] } } });
  const wrong: [string, (secret: string) => object | string][] = [
    ["a token in the place of its hash", (secret) => credential({ tokenSha256: secret })],
    ["a token in a key that there is not", (secret) => credential({ token: secret })],
    ["a token beside another kind", (secret) => credential({ tokenFile: "x", oidc: secret })],
    ["a private key among public ones", (secret) => keys({ kty: "RSA", d: secret })],
    ["a symmetric key", (secret) => keys({ kty: "oct", k: secret })],
    [
      "a key URL with a password",
      (secret) => credential({ oidc: { ...oidc, jwksUri: `http://u:${secret}@issuer.example` } }),
    ],
    ["an upstream with a password", (secret) => upstream(`https://user:${secret}@dns.example/dns-query`)],
    ["an upstream without TLS, with a secret path", (secret) => upstream(`http://dns.example/${secret}`)],
    ["a public URL with a password", (secret) => ({ publicUrl: `https://user:${secret}@doh.example.org` })],
    [
      "a key file that is none",
      (secret) => ({ tls: { certificateFile: file("bad.crt", secret), keyFile: file("bad.key", secret) } }),
    ],
    ["a token file of two words", (secret) => credential({ tokenFile: file("two", `${secret} ${secret}`) })],
    ...[
      ["keys of an issuer that are none", (secret: string) => `{"keys": "${secret}`] as const,
      ...["d", "k"].map(
        (part) =>
          [
            `a key file with the private part ${part}`,
            (secret: string) =>
              JSON.stringify({ keys: [{ kty: "RSA", n: "AQAB", e: "AQAB", [part]: secret }] }),
          ] as const,
      ),
    ].map(([title, jwks]): [string, (secret: string) => object] => [
      title,
      (secret) => credential({ oidc: { ...oidc, jwksFile: file("bad.jwks", jwks(secret)) } }),
    ]),
    ["a file that breaks off", (secret) => `push: {credentials: [{clusterId: east, tokenSha256: "${secret}`],
    ["a file that is not a mapping", (secret) => secret],
    ["a file with a tab", (secret) => `push:\n\ttokenSha256: ${secret}\n`],
    ["a file with a key twice", (secret) => `publicUrl: ${secret}\npublicUrl: ${secret}\n`],
  ];
  let printed: Record<"stdout" | "stderr", string[]>;
  beforeAll(async () => {
    const commands = wrong.map(([title, config]) => {
      const written = config(canaries.make(title));
      const path = file("config.yaml", typeof written === "string" ? written : JSON.stringify(written));
      const more = ["--listen", "127.0.0.1:0", "--state-dir", join(folder, "state"), "--log-level", "debug"];
      return ["serve", "--config", path, ...more];
    });
    const args = [file("commands.mjs", PROGRAM), JSON.stringify(commands)];
    const { stdout, stderr } = await runProgram(process.execPath, args);
    printed = { stdout: stdout.split(`${END}2\n`), stderr: stderr.split(`${END}2\n`) };
  });

  test.each(wrong.map(([title], index) => [title, index] as const))("%s", (title, index) => {
    expect([printed.stdout[index], printed.stderr[index]]).toEqual(["", expect.stringMatching(/\S/)]);
    expect(canaries.foundIn(title, printed.stderr[index]!)).toEqual([]);
  });

  test("each ends with 2", () => {
    for (const parts of Object.values(printed))
      expect([parts.length, parts.at(-1)]).toEqual([wrong.length + 1, ""]);
  });
});
