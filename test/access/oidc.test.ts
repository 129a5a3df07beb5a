import { SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import {
  createOidcVerifier,
  type FetchKeys,
  inlineKeys,
  isKeysUrl,
  type KeySource,
  type OidcCredential,
  remoteKeys,
} from "../../src/access/oidc.ts";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { AUDIENCE, type Claims, ISSUER, makeKey, NOW, type SigningKey, SUBJECT } from "./issuers.ts";

let east: SigningKey;
let west: SigningKey;
beforeAll(async () => {
  // Clusters that one tool made: one issuer's name, one subject, one key id.
  [east, west] = await Promise.all([makeKey("key-1"), makeKey("key-1")]);
});

const keysOf = (...keys: SigningKey[]): KeySource => inlineKeys({ keys: keys.map(({ jwk }) => jwk) });
const credential = (
  holder: string,
  keys: KeySource,
  more: Partial<OidcCredential<string>> = {},
): OidcCredential<string> => {
  const token = { issuer: ISSUER, audience: AUDIENCE, subjects: [SUBJECT] };
  return { holder, ...token, keys, ...more };
};
const verifier = (...credentials: OidcCredential<string>[]) =>
  createOidcVerifier(credentials, "push.credentials", () => NOW);
const both = () => verifier(credential("east", keysOf(east)), credential("west", keysOf(west)));

describe("a token of a cluster's ServiceAccount", () => {
  it("belongs to the cluster whose key signed it, even if issuer, subject and key id are the same", async () => {
    expect([...(await both()(await east.token()))!]).toEqual(["east"]);
    expect([...(await both()(await west.token()))!]).toEqual(["west"]);
  });

  it.each(["RS256", "PS256", "ES256", "ES384", "EdDSA"])("may be signed by %s", async (alg) => {
    const key = await makeKey("k", alg);
    expect((await verifier(credential("east", keysOf(key)))(await key.token()))?.size).toBe(1);
  });

  it("may have several audiences, be one of several subjects, and be 30 seconds off", async () => {
    const known = verifier(credential("east", keysOf(east), { subjects: ["other", SUBJECT] }));
    for (const claims of [{ aud: ["https://api", AUDIENCE] }, { exp: -20 }, { nbf: 20 }] satisfies Claims[])
      expect((await known(await east.token(claims)))?.size).toBe(1);
  });

  it("has to have one of the values of each claim that the credential names", async () => {
    const known = verifier(credential("a", keysOf(east), { claims: { groups: ["platform", "admins"] } }));
    for (const groups of ["admins", ["guests", "platform"]])
      expect((await known(await east.token({ groups })))?.size).toBe(1);
    for (const groups of [undefined, "guests", ["admins2"], { admins: true }])
      await expect(known(await east.token({ groups }))).rejects.toMatchObject({ code: "UNKNOWN_SUBJECT" });
  });

  it.each<[string, Claims, string, RegExp]>([
    ["another audience", { aud: "https://api" }, "WRONG_AUDIENCE", /must be for "clusterset-doh"/],
    ["another subject", { sub: "system:admin" }, "UNKNOWN_SUBJECT", /system:admin.*oidc\.subject/],
    ["a subject that begins like it", { sub: `${SUBJECT}2` }, "UNKNOWN_SUBJECT", /oidc\.subject/],
    ["no subject", { sub: undefined }, "TOKEN_REFUSED", /lacks the claim sub/],
    ["an expiry in the past", { exp: -31 }, "TOKEN_EXPIRED", /expired at 2026-06-01T11:59:29/],
    ["no expiry", { exp: undefined }, "TOKEN_REFUSED", /lacks the claim exp/],
    ["a start in the future", { nbf: 40 }, "TOKEN_REFUSED", /nbf/],
    ["another issuer", { iss: "https://evil.example" }, "UNKNOWN_ISSUER", /"https:\/\/evil\.example"/],
  ])("with %s is rejected", async (_, claims, code, message) => {
    await expect(both()(await east.token(claims))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("is rejected if another key signed it, if it was altered, or under another key id", async () => {
    const stranger = await makeKey("key-1");
    const [head, , signature] = (await east.token()).split(".");
    const [, payload] = (await east.token({ sub: "system:admin" })).split(".");
    for (const [token, code] of [
      [await stranger.token(), "UNKNOWN_KEY"],
      [`${head}.${payload}.${signature}`, "UNKNOWN_KEY"],
      [await east.token({}, { kid: "key-2" }), "UNKNOWN_KEY"],
      [
        `${Buffer.from('{"alg":"ES256","kid":"key-1","crit":["exp"],"exp":1}').toString("base64url")}.${payload}.${signature}`,
        "TOKEN_REFUSED",
      ],
    ] as const)
      await expect(both()(token)).rejects.toMatchObject({ code });
  });

  // RFC 8725 section 3.1 and 3.2
  it("is rejected without a signature, and if the public key signed it as a secret", async () => {
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: SUBJECT, exp: NOW / 1000 + 600 };
    const secret = new TextEncoder().encode(JSON.stringify(east.jwk));
    for (const token of [
      new UnsecuredJWT(claims).encode(),
      await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "key-1" }).sign(secret),
    ])
      await expect(both()(token)).rejects.toMatchObject({ code: "TOKEN_REFUSED" });
    const oct = { kty: "oct", kid: "key-1", k: Buffer.from(secret).toString("base64url") };
    const symmetric = remoteKeys({
      url: "https://keys.example/jwks",
      discovery: false,
      fetch: async () => Response.json({ keys: [oct] }),
    });
    const hmac = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "key-1" }).sign(secret);
    await expect(verifier(credential("east", symmetric))(hmac)).rejects.toMatchObject({
      code: expect.stringMatching(/TOKEN_REFUSED|UNKNOWN_KEY/),
    });
  });

  it("is verified by both keys while they are rotated, and by the new one alone afterwards", async () => {
    const next = await makeKey("key-2");
    const rotating = verifier(credential("east", keysOf(east, next)));
    for (const key of [east, next]) expect((await rotating(await key.token()))?.size).toBe(1);
    await expect(verifier(credential("east", keysOf(next)))(await east.token())).rejects.toMatchObject({
      code: "UNKNOWN_KEY",
    });
  });

  it.each(["", "secret", "a.b", "a.b.c", "..", `${"x".repeat(300)}.y.z`])(
    "is not a JSON Web Token: %j",
    async (text) => {
      expect(await both()(text)).toBeUndefined();
    },
  );

  it("is not repeated in the message", async () => {
    const token = await east.token({ aud: "x".repeat(5000) });
    await expect(both()(token)).rejects.toSatisfy(
      ({ message }: Error) => message.length < 500 && !message.includes(token.split(".")[2]!),
    );
  });
});

describe("the verifications of one token", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });
  /** The holders, or the code of the rejection, and how many signatures were verified. */
  async function counted(known: ReturnType<typeof verifier>, token: string) {
    const verify = vi.spyOn(crypto.subtle, "verify");
    const result = await known(token).then(
      (holders) => [...holders!],
      ({ code }: Error & { code: string }) => code,
    );
    const count = verify.mock.calls.length;
    verify.mockRestore();
    return [result, count] as const;
  }
  const each = (keys: readonly SigningKey[]) =>
    verifier(...keys.map((key, index) => credential(`c${index}`, keysOf(key))));

  it("are one at most, by the key that has the token's key id, in an issuer's name with many keys", async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, (_, index) => makeKey(`key-${index}`)));
    const stranger = await makeKey("key-7");
    const known = each(keys);
    expect(await counted(known, await keys[7]!.token())).toEqual([["c7"], 1]);
    expect(await counted(known, await stranger.token())).toEqual(["UNKNOWN_KEY", 1]);
    expect(await counted(known, await stranger.token({}, { kid: "none" }))).toEqual(["UNKNOWN_KEY", 0]);
  });

  it("are none without a key id where the issuer's name has several keys, and one where it has one", async () => {
    const withoutId = await east.token({}, { kid: undefined });
    const refusal = { code: "UNKNOWN_KEY", message: expect.stringMatching(/names no key \(kid\)/) };
    await expect(both()(withoutId)).rejects.toMatchObject(refusal);
    expect(await counted(both(), withoutId)).toEqual(["UNKNOWN_KEY", 0]);
    const alone = verifier(credential("one", keysOf(east)), credential("two", keysOf(east)));
    expect(await counted(alone, withoutId)).toEqual([["one", "two"], 1]);
  });

  it("are shared by credentials with the same keys, whose holders keep their order", async () => {
    const shared = Array.from({ length: 20 }, (_, index) =>
      credential(`s${index}`, keysOf(east), index % 10 === 3 ? {} : { subjects: [`other-${index}`] }),
    );
    const known = verifier(...shared, credential("west", keysOf(await makeKey("key-2"))));
    expect(await counted(known, await east.token())).toEqual([["s3", "s13"], 1]);
    expect(await counted(known, await east.token({ sub: "nobody" }))).toEqual(["UNKNOWN_SUBJECT", 1]);
  });

  it("are four at most where more keys have one key id, which the message says", async () => {
    const keys = await Promise.all(Array.from({ length: 6 }, () => makeKey("key-1")));
    const known = each(keys);
    expect((await counted(known, await keys[3]!.token()))[0]).toEqual(["c3"]);
    const fifth = await keys[4]!.token();
    expect(await counted(known, fifth)).toEqual(["UNKNOWN_KEY", 4]);
    await expect(known(fifth)).rejects.toThrow(/too many keys of the issuer have the token's key id/);
  });
});

const URL_OF_KEYS = "https://keys.example/jwks";
const MINUTE = 60_000;

let fetched: string[];
let failures: string[];
let answers: Record<string, () => Response | Promise<Response>>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  fetched = [];
  failures = [];
  answers = {};
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

const fetchKeys: FetchKeys = async (url, { redirect }) => {
  expect(redirect).toBe("manual");
  fetched.push(url);
  return (answers[url] ?? (() => new Response("gone", { status: 404 })))();
};
const publish = (...keys: SigningKey[]) => {
  answers[URL_OF_KEYS] = () => Response.json({ keys: keys.map(({ jwk }) => jwk) });
};
/** Verifies tokens that do not run out. */
function known(discovery = false) {
  const url = discovery ? ISSUER : URL_OF_KEYS;
  const onFailure = (_: string, error: unknown) => void failures.push(String(error));
  const verify = verifier(credential("east", remoteKeys({ url, discovery, fetch: fetchKeys, onFailure })));
  return async (key: SigningKey, header = {}) => (await verify(await key.token({}, header)))?.size === 1;
}
/** A key that is published. */
async function published() {
  const key = await makeKey("a");
  publish(key);
  return key;
}

describe("keys behind a URL", () => {
  it("are fetched when they are needed, once for many", async () => {
    const key = await published();
    const verify = known();
    expect(fetched).toEqual([]);
    expect(await Promise.all([verify(key), verify(key), verify(key)])).toEqual([true, true, true]);
    pass(9 * MINUTE - 1);
    expect(await verify(key)).toBe(true);
    expect(fetched).toEqual([URL_OF_KEYS]);
  });

  it("are fetched again for an unknown key id, but not for every made-up one", async () => {
    const [old, next] = [await published(), await makeKey("b")];
    const verify = known();
    expect(await verify(old)).toBe(true);
    pass(31_000);
    publish(old, next);
    expect(await verify(next)).toBe(true);
    expect(fetched).toHaveLength(2);
    for (let guess = 0; guess < 20; guess++)
      await expect(verify(old, { kid: `guess-${guess}` })).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
    expect(fetched).toHaveLength(2);
    pass(31_000);
    await expect(verify(old, { kid: "guess" })).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
    expect(fetched).toHaveLength(3);
  });

  it("that were withdrawn are out of use after 10 minutes also for remembered tokens", async () => {
    const [old, next] = [await published(), await makeKey("b")];
    const keys = remoteKeys({ url: URL_OF_KEYS, discovery: false, fetch: fetchKeys });
    const oidc = { ...credential("", keys), holder: { credential: "east", clusterId: "east" } };
    const authority = createAuthority({ oidc: [oidc] });
    const authorization = `Bearer ${await old.token({ exp: 3600 })}`;
    const identify = () => authority.identify(authorization, undefined);
    expect([...(await identify())]).toEqual([oidc.holder]);
    publish(next);
    pass(9 * MINUTE - 1);
    expect([...(await identify())]).toEqual([oidc.holder]);
    pass(MINUTE + 1);
    await expect(identify()).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
  });

  it("stay in use for a day while the URL is down, and no longer", async () => {
    const key = await published();
    const verify = known();
    expect(await verify(key)).toBe(true);
    answers[URL_OF_KEYS] = () => Promise.reject(new Error("connect ECONNREFUSED"));
    for (const passed of [11 * MINUTE, 23 * 60 * MINUTE]) {
      vi.setSystemTime(NOW + passed);
      expect(await verify(key)).toBe(true);
    }
    expect(failures).toHaveLength(2);
    vi.setSystemTime(NOW + 24 * 60 * MINUTE + 1);
    await expect(verify(key)).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
    publish(key);
    pass(31_000);
    expect(await verify(key)).toBe(true);
  });

  it.each<[string, () => Response, RegExp]>([
    ["a key set that is too long", () => new Response(`{"keys":[${" ".repeat(300_000)}]}`), /262144/],
    ["no JSON", () => new Response("<html>"), /JSON/],
    ["no key set", () => Response.json({ keys: "none" }), /key set/],
    ["null", () => Response.json(null), /key set/],
    ["a redirect", () => Response.redirect("https://evil.example/jwks"), /answered 302/],
    ["a 403", () => new Response("", { status: 403 }), /403.*service-account-issuer-discovery/],
  ])("are not accepted from %s", async (_, answer, message) => {
    const key = await makeKey("a");
    answers[URL_OF_KEYS] = answer;
    await expect(known()(key)).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
    expect(failures).toEqual([expect.stringMatching(message)]);
  });

  it("are found by discovery if the document is that of the issuer and names https", async () => {
    const key = await published();
    const place = `${ISSUER}/.well-known/openid-configuration`;
    answers[place] = () => Response.json({ issuer: ISSUER, jwks_uri: URL_OF_KEYS });
    expect(await known(true)(key)).toBe(true);
    expect(fetched).toEqual([place, URL_OF_KEYS]);
    for (const document of [
      { issuer: "https://evil.example", jwks_uri: URL_OF_KEYS },
      { issuer: ISSUER, jwks_uri: "http://keys.example/jwks" },
      { issuer: ISSUER, jwks_uri: "file:///etc/passwd" },
      { issuer: ISSUER },
      null,
    ]) {
      answers[place] = () => Response.json(document);
      await expect(known(true)(key)).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
    }
  });

  it.each(["d", "p", "q", "dp", "dq", "qi", "oth", "k"])(
    "are rejected with the private part %s, unrepeated",
    async (part) => {
      const { jwk } = await makeKey("a");
      const given = () => inlineKeys({ keys: [jwk, { ...jwk, [part]: "c2VjcmV0" }] });
      expect(given).toThrow(new RegExp(`^keys\\[1\\] has ${part}, of a private or shared key`));
      expect(given).not.toThrow(/c2VjcmV0/);
      const rule = { issuer: ISSUER, subject: SUBJECT, jwks: { keys: [{ ...jwk, [part]: "c2VjcmV0" }] } };
      const read = () => readEdgeConfig({ access: { rules: [{ name: "a", oidc: [rule] }] } });
      expect(read).toThrow(
        new RegExp(`oidc\\[0\\]\\.jwks\\.keys\\[0\\]\\.${part}: has ${part}, of a private`),
      );
      expect(read).not.toThrow(/c2VjcmV0/);
    },
  );

  it.each([
    ["https://10.0.0.1:6443/openid/v1/jwks", true],
    ["http://127.0.0.1:8001/openid/v1/jwks", true],
    ["http://[::1]/x", true],
    ["http://10.0.0.1/x", false],
    ["http://127.0.0.1.evil.example/x", false],
    ["https://user:secret@host/x", false],
  ])("may be at %s: %s", (url, may) => {
    expect(isKeysUrl(url)).toBe(may);
  });
});
