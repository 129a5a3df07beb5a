import { beforeAll, describe, expect, it } from "vitest";
import { createOidcVerifier, type OidcCredential } from "../../src/access/oidc.ts";
import { inlineKeys, isKeysUrl, remoteKeys } from "../../src/access/oidc-keys.ts";
import { AUDIENCE, type Claims, ISSUER, makeKey, NOW, type SigningKey, SUBJECT } from "./issuers.ts";

let key: SigningKey;
let other: SigningKey;
beforeAll(async () => {
  [key, other] = await Promise.all([makeKey("a"), makeKey("b")]);
});

const credential = (more: Partial<OidcCredential<string>> = {}): OidcCredential<string> => ({
  ...{ holder: "east", issuer: ISSUER, audience: AUDIENCE, subjects: [SUBJECT] },
  keys: inlineKeys({ keys: [key.jwk] }),
  ...more,
});

async function rejection(token: string, ...credentials: OidcCredential<string>[]): Promise<string> {
  const error = await createOidcVerifier(credentials, "push.credentials", () => NOW)
    .holdersOf(token)
    .then(
      () => undefined,
      (reason: Error & { code: string }) => reason,
    );
  return `${error?.code}: ${error?.message}`;
}

describe("the rejection of a token", () => {
  it.each<[string, Claims, string, Partial<OidcCredential<string>>?]>([
    [
      "of another issuer",
      { iss: "https://x" },
      "UNKNOWN_ISSUER: no credential is for the token's issuer \"https://x\": add it to the gateway's push.credentials",
    ],
    [
      "without an issuer",
      { iss: undefined },
      "UNKNOWN_ISSUER: no credential is for the token's issuer \"\": add it to the gateway's push.credentials",
    ],
    [
      "of another subject",
      { sub: "x" },
      'UNKNOWN_SUBJECT: the token\'s subject is "x", which push.credentials[].oidc.subject does not name',
    ],
    ["without a subject", { sub: undefined }, "TOKEN_REFUSED: the token lacks the claim sub"],
    [
      "without a claim",
      {},
      'UNKNOWN_SUBJECT: the token\'s claim "groups" has none of the values in push.credentials[].oidc.claims',
      { claims: { groups: ["admins"] } },
    ],
    [
      "whose claim has values of other types",
      { groups: [7, { admins: true }, null] },
      'UNKNOWN_SUBJECT: the token\'s claim "groups" has none of the values in push.credentials[].oidc.claims',
      { claims: { groups: ["admins", "7"] } },
    ],
    [
      "for another audience",
      { aud: "x" },
      'WRONG_AUDIENCE: the token is for "x", and must be for "clusterset-doh": get one for that audience (in Kubernetes: set it in the projected volume)',
    ],
    [
      "that expired",
      { exp: -60 },
      "TOKEN_EXPIRED: the token expired at 2026-06-01T11:59:00.000Z: send a new one",
    ],
    [
      "that is not valid yet",
      { nbf: 60 },
      "TOKEN_REFUSED: the token's claim nbf makes it invalid, now or always",
    ],
  ])("%s", async (_, claims, expected, more) => {
    expect(await rejection(await key.token(claims), credential(more))).toBe(expected);
  });

  it("signed by another key, or under another key id", async () => {
    expect(await rejection(await other.token({}, { kid: "a" }), credential())).toBe(
      "UNKNOWN_KEY: the issuer's key did not make the token's signature",
    );
    expect(await rejection(await other.token(), credential())).toBe(
      "UNKNOWN_KEY: no key of the issuer matches the token: is the token from that issuer, and does push.credentials[].oidc have its newest keys?",
    );
  });

  it("that names no key of an issuer with several", async () => {
    const keys = inlineKeys({ keys: [key.jwk, other.jwk] });
    expect(await rejection(await key.token({}, { kid: undefined }), credential({ keys }))).toBe(
      "UNKNOWN_KEY: the token names no key (kid), and the issuer has several",
    );
  });

  it("whose header names no allowed algorithm, or is not readable", async () => {
    const [, payload, signature] = (await key.token()).split(".");
    const header = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    expect(await rejection(`${header({ alg: "HS256" })}.${payload}.${signature}`, credential())).toBe(
      "TOKEN_REFUSED: the token's signature algorithm is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519",
    );
    expect(
      await rejection(`${header({ alg: "ES256", crit: ["x"], x: 1 })}.${payload}.${signature}`, credential()),
    ).toBe("TOKEN_REFUSED: the token is not a readable signed JSON Web Token");
  });

  it("while the issuer's keys are unavailable, or cannot be used", async () => {
    const down = remoteKeys({
      url: "https://keys.example",
      discovery: false,
      fetch: () => Promise.reject(new Error("down")),
    });
    expect(await rejection(await key.token(), credential({ keys: down }))).toBe(
      "KEYS_UNAVAILABLE: the issuer's keys could not be fetched: try again later; the gateway's log says why",
    );
    const broken = { key: () => Promise.reject(new TypeError("not a key")) };
    expect(await rejection(await key.token(), credential({ keys: broken }))).toBe(
      "KEYS_UNAVAILABLE: the issuer's key cannot be used: fix its key set",
    );
  });

  it("of several credentials is that of the one that came furthest; the later one if they are equal", async () => {
    const token = await key.token({ sub: "x" });
    const elsewhere = credential({ keys: inlineKeys({ keys: [other.jwk] }) });
    for (const credentials of [
      [credential(), elsewhere],
      [elsewhere, credential()],
    ])
      expect(await rejection(token, ...credentials)).toMatch(/^UNKNOWN_SUBJECT/);
    const [one, two] = ["one", "two"].map((audience) => credential({ audience }));
    expect(await rejection(await key.token(), one!, two!)).toContain('must be for "two"');
  });
});

describe("keys of a URL", () => {
  const failureOf = async (discovery: boolean, answer: (url: string) => Response) => {
    const failures: string[] = [];
    const headers: (string | null)[] = [];
    const keys = remoteKeys({
      url: ISSUER,
      discovery,
      fetch: async (url, request) => {
        headers.push(`${url} ${request.redirect} ${new Headers(request.headers).get("accept")}`);
        return answer(url);
      },
      onFailure: (url, error) => failures.push(`${url}: ${(error as Error).message}`),
    });
    await expect(keys.key({ alg: "ES256", kid: "a" }, {} as never)).rejects.toThrow(
      "the issuer's keys could not be fetched",
    );
    return { failures, headers };
  };
  const DOCUMENT = `${ISSUER}/.well-known/openid-configuration`;

  it.each<[string, boolean, () => Response, string]>([
    [
      "a status of a forbidden key set",
      false,
      () => new Response("", { status: 401 }),
      `${ISSUER} answered 401: a Kubernetes API server shows its keys to members of system:service-account-issuer-discovery only; give the keys inline otherwise`,
    ],
    ["another status", false, () => new Response("", { status: 500 }), `${ISSUER} answered 500`],
    [
      "a document of another issuer",
      true,
      () => Response.json({ issuer: "https://x", jwks_uri: "https://x" }),
      `${DOCUMENT} is of another issuer`,
    ],
    ["a document that is null", true, () => Response.json(null), `${DOCUMENT} is of another issuer`],
    [
      "a document without a URL",
      true,
      () => Response.json({ issuer: ISSUER, jwks_uri: 7 }),
      `${DOCUMENT} has no jwks_uri with https`,
    ],
    [
      "a document whose URL has no TLS",
      true,
      () => Response.json({ issuer: ISSUER, jwks_uri: "http://keys.example/" }),
      `${DOCUMENT} has no jwks_uri with https`,
    ],
  ])("are not read from %s", async (_, discovery, answer, message) => {
    const { failures, headers } = await failureOf(discovery, answer);
    expect(failures).toEqual([`${ISSUER}: ${message}`]);
    expect(headers).toEqual([
      `${discovery ? DOCUMENT : ISSUER} manual application/jwk-set+json, application/json`,
    ]);
  });

  it("may fail without an observer", async () => {
    const keys = remoteKeys({
      url: ISSUER,
      discovery: false,
      fetch: () => Promise.reject(new Error("down")),
    });
    await expect(keys.key({ alg: "ES256" }, {} as never)).rejects.toThrow("could not be fetched");
  });

  it.each([
    ["http://localhost/x", true],
    ["http://127.10.20.30/x", true],
    ["http://x127.0.0.1/x", false],
    ["http://1.127.0.0/x", false],
    ["https://host/x#part", false],
    ["http://user@localhost/", false],
    ["wss://localhost/", false],
    ["", false],
  ])("may be at %s: %s", (url, may) => {
    expect(isKeysUrl(url)).toBe(may);
  });
});
