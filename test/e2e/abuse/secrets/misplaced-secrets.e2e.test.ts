import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli } from "../../harness/cli.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { Canaries } from "./canaries.ts";

const canaries = new Canaries();
const folder = temporaryFolder("misplaced-secrets");
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};

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
  const wrong: [string, (secret: string) => object | string][] = [
    ["a token in the place of its hash", (secret) => credential({ tokenSha256: secret })],
    ["a token in a key that there is not", (secret) => credential({ token: secret })],
    [
      "a token beside another kind",
      (secret) => credential({ tokenFile: "x", certificate: { san: secret }, oidc: secret }),
    ],
    [
      "a private key among public ones",
      (secret) => credential({ oidc: { ...oidc, jwks: { keys: [{ kty: "RSA", d: secret }] } } }),
    ],
    [
      "a symmetric key",
      (secret) => credential({ oidc: { ...oidc, jwks: { keys: [{ kty: "oct", k: secret }] } } }),
    ],
    [
      "a key URL with a password",
      (secret) => credential({ oidc: { ...oidc, jwksUri: `http://u:${secret}@issuer.example` } }),
    ],
    [
      "a transfer token in the place of its hash",
      (secret) => ({ transfer: { credentials: [{ tokenSha256: secret }] } }),
    ],
    ["an upstream with a password", (secret) => upstream(`https://user:${secret}@dns.example/dns-query`)],
    [
      "an upstream without TLS, with a path that is secret",
      (secret) => upstream(`http://dns.example/${secret}`),
    ],
    ["a public URL with a password", (secret) => ({ publicUrl: `https://user:${secret}@doh.example.org` })],
    [
      "a key file that is none",
      (secret) => ({ tls: { certificateFile: file("bad.crt", secret), keyFile: file("bad.key", secret) } }),
    ],
    ["a token file of two words", (secret) => credential({ tokenFile: file("two", `${secret} ${secret}`) })],
    [
      "keys of an issuer that are none",
      (secret) =>
        credential({
          oidc: { ...oidc, jwksFile: file("bad.jwks", `{"keys": "${secret}`) },
        }),
    ],
    ...["d", "p", "q", "dp", "dq", "qi", "k"].map((part): [string, (secret: string) => object] => [
      `a key file with the private part ${part}`,
      (secret) => {
        const jwks = JSON.stringify({ keys: [{ kty: "RSA", n: "AQAB", e: "AQAB", [part]: secret }] });
        return credential({ oidc: { ...oidc, jwksFile: file("private.jwks", jwks) } });
      },
    ]),
    ["a file that breaks off", (secret) => `push: {credentials: [{clusterId: east, tokenSha256: "${secret}`],
    ["a file that is not a mapping", (secret) => secret],
    ["a file with a tab", (secret) => `push:\n\ttokenSha256: ${secret}\n`],
    ["a file with a key twice", (secret) => `publicUrl: ${secret}\npublicUrl: ${secret}\n`],
  ];
  test.each(wrong)("%s", async (title, config) => {
    const written = config(canaries.make(title));
    const path = file("config.yaml", typeof written === "string" ? written : JSON.stringify(written));
    const args = ["serve", "--config", path, "--listen", "127.0.0.1:0", "--state-dir", join(folder, "state")];
    const { code, stdout, stderr } = await runCli([...args, "--log-level", "debug"]);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(/\S/)]);
    expect(canaries.foundIn(title, stderr)).toEqual([]);
  });
});
