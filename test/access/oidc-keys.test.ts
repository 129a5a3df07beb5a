import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import {
  createOidcVerifier,
  type FetchKeys,
  inlineKeys,
  isKeysUrl,
  remoteKeys,
} from "../../src/access/oidc.ts";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { AUDIENCE, ISSUER, makeKey, NOW, type SigningKey, SUBJECT } from "./issuers.ts";

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
  const keys = remoteKeys({
    url: discovery ? ISSUER : URL_OF_KEYS,
    discovery,
    fetch: fetchKeys,
    onFailure: (_, error) => failures.push(String(error)),
  });
  const verifier = createOidcVerifier(
    [{ holder: "east", issuer: ISSUER, audience: AUDIENCE, subjects: [SUBJECT], keys }],
    "push.credentials",
    () => NOW,
  );
  return async (key: SigningKey, header = {}) => (await verifier(await key.token({}, header)))?.size === 1;
}

describe("keys behind a URL", () => {
  it("are fetched when they are needed, once for many", async () => {
    const key = await makeKey("a");
    publish(key);
    const verify = known();
    expect(fetched).toEqual([]);
    expect(await Promise.all([verify(key), verify(key), verify(key)])).toEqual([true, true, true]);
    pass(9 * MINUTE - 1);
    expect(await verify(key)).toBe(true);
    expect(fetched).toEqual([URL_OF_KEYS]);
  });

  it("are fetched again for an unknown key id, but not for every made-up one", async () => {
    const [old, next] = await Promise.all([makeKey("a"), makeKey("b")]);
    publish(old);
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
    const [old, next] = await Promise.all([makeKey("a"), makeKey("b")]);
    publish(old);
    const oidc = {
      holder: { credential: "east", clusterId: "east" },
      issuer: ISSUER,
      audience: AUDIENCE,
      subjects: [SUBJECT],
      keys: remoteKeys({ url: URL_OF_KEYS, discovery: false, fetch: fetchKeys }),
    };
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
    const key = await makeKey("a");
    publish(key);
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
    const key = await makeKey("a");
    publish(key);
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
    "are rejected with the private part %s, which the message does not repeat",
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
    ["ftp://host/x", false],
    ["keys", false],
  ])("may be at %s: %s", (url, may) => {
    expect(isKeysUrl(url)).toBe(may);
  });
});
