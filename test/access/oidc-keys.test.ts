import { beforeEach, describe, expect, it } from "vitest";
import { createOidcVerifier } from "../../src/access/oidc.ts";
import { type FetchKeys, isKeysUrl, RemoteKeys } from "../../src/access/oidc-keys.ts";
import { AUDIENCE, ISSUER, makeKey, NOW, type SigningKey, SUBJECT } from "./issuers.ts";

const URL_OF_KEYS = "https://keys.example/jwks";
const MINUTE = 60_000;

let now: number;
let fetched: string[];
let failures: string[];
let answers: Record<string, () => Response | Promise<Response>>;
beforeEach(() => {
  now = NOW;
  fetched = [];
  failures = [];
  answers = {};
});

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
  const keys = new RemoteKeys({
    url: discovery ? ISSUER : URL_OF_KEYS,
    discovery,
    fetch: fetchKeys,
    clock: () => now,
    onFailure: (_, error) => failures.push(String(error)),
  });
  const verifier = createOidcVerifier(
    [{ holder: "east", issuer: ISSUER, audience: AUDIENCE, subjects: [SUBJECT], keys }],
    "push.credentials",
    () => NOW,
  );
  return async (key: SigningKey, header = {}) =>
    (await verifier.holdersOf(await key.token({}, header)))?.size === 1;
}

describe("keys behind a URL", () => {
  it("are fetched when they are needed, once for many", async () => {
    const key = await makeKey("a");
    publish(key);
    const verify = known();
    expect(fetched).toEqual([]);
    expect(await Promise.all([verify(key), verify(key), verify(key)])).toEqual([true, true, true]);
    now += 9 * MINUTE;
    expect(await verify(key)).toBe(true);
    expect(fetched).toEqual([URL_OF_KEYS]);
  });

  it("are fetched again for a key that is not known, but not for every made-up one", async () => {
    const [old, next] = await Promise.all([makeKey("a"), makeKey("b")]);
    publish(old);
    const verify = known();
    expect(await verify(old)).toBe(true);
    now += 31_000;
    publish(old, next);
    expect(await verify(next)).toBe(true);
    expect(fetched).toHaveLength(2);
    for (let guess = 0; guess < 20; guess++)
      await expect(verify(old, { kid: `guess-${guess}` })).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
    expect(fetched).toHaveLength(2);
    now += 31_000;
    await expect(verify(old, { kid: "guess" })).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
    expect(fetched).toHaveLength(3);
  });

  it("that were withdrawn go within 10 minutes", async () => {
    const [old, next] = await Promise.all([makeKey("a"), makeKey("b")]);
    publish(old);
    const verify = known();
    expect(await verify(old)).toBe(true);
    publish(next);
    now += 10 * MINUTE + 1;
    await expect(verify(old)).rejects.toMatchObject({ code: "UNKNOWN_KEY" });
  });

  it("stay in use for a day while the URL is down, and no longer", async () => {
    const key = await makeKey("a");
    publish(key);
    const verify = known();
    expect(await verify(key)).toBe(true);
    answers[URL_OF_KEYS] = () => Promise.reject(new Error("connect ECONNREFUSED"));
    for (const passed of [11 * MINUTE, 23 * 60 * MINUTE]) {
      now = NOW + passed;
      expect(await verify(key)).toBe(true);
    }
    expect(failures).toHaveLength(2);
    now = NOW + 24 * 60 * MINUTE + 1;
    await expect(verify(key)).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
    publish(key);
    now += 31_000;
    expect(await verify(key)).toBe(true);
  });

  it.each<[string, () => Response, RegExp]>([
    ["a key set that is too long", () => new Response(`{"keys":[${" ".repeat(300_000)}]}`), /262144/],
    ["no JSON", () => new Response("<html>"), /JSON/],
    ["no key set", () => Response.json({ keys: "none" }), /key set/],
    ["null", () => Response.json(null), /key set/],
    ["a redirect", () => Response.redirect("https://evil.example/jwks"), /answered 302/],
    ["a refusal", () => new Response("", { status: 403 }), /403.*service-account-issuer-discovery/],
  ])("are not taken from %s", async (_, answer, message) => {
    const key = await makeKey("a");
    answers[URL_OF_KEYS] = answer;
    await expect(known()(key)).rejects.toMatchObject({ code: "KEYS_UNAVAILABLE" });
    expect(failures).toEqual([expect.stringMatching(message)]);
  });

  it("are found by discovery, where the document is of that issuer and names https", async () => {
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
