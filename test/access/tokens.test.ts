import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { BearerTable, bearerToken } from "../../src/access/bearer-table.ts";
import { parseDigest } from "../../src/access/digests.ts";
import { inlineKeys } from "../../src/access/oidc-keys.ts";
import { checkPublic, PrivateKeyShown, privatePartsOf, usableKeys } from "../../src/access/public-keys.ts";
import { SecretTable } from "../../src/access/secret-table.ts";
import { TokenMemory } from "../../src/access/token-memory.ts";
import { sha256 } from "../http/push/push-api.ts";
import { AUDIENCE, ISSUER, makeKey, NOW, type SigningKey } from "./issuers.ts";

describe("the token of an Authorization field (RFC 6750 section 2.1)", () => {
  it.each<[string | undefined, string | undefined]>([
    ["Bearer abc", "abc"],
    ["bearer   a.b-c_d~e+f/g==  ", "a.b-c_d~e+f/g=="],
    ["Bearer", undefined],
    ["Bearer ", undefined],
    ["Bearerabc", undefined],
    ["Basic abc", undefined],
    ["x Bearer abc", undefined],
    ["Bearer a b", undefined],
    ["Bearer a=b", undefined],
    [undefined, undefined],
    [`Bearer ${"t".repeat(16_384)}`, "t".repeat(16_384)],
  ])("%j has %j", (field, token) => {
    expect(bearerToken(field)).toBe(token);
  });

  it("is rejected above 16,384 characters", () => {
    expect(() => bearerToken(`Bearer ${"t".repeat(16_385)}`)).toThrow(
      "the bearer token has 16385 characters, more than 16384: let its issuer put fewer groups or roles into it",
    );
  });
});

describe("a table of secrets", () => {
  it("finds the first holder of the same digests, of one part or of two", () => {
    const digest = fc.uint8Array({ minLength: 32, maxLength: 32, max: 1 });
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 }).chain((parts) => {
          const row = fc.array(digest, { minLength: parts, maxLength: parts });
          return fc.tuple(fc.array(row, { maxLength: 6 }), row);
        }),
        fc.nat(),
        ([rows, other], index) => {
          const table = new SecretTable(rows.map((row, holder) => [holder, ...row.map(hex)]));
          const asked = rows[index % (rows.length || 1)] ?? other;
          const first = rows.findIndex((row) => row.map(hex).join() === asked.map(hex).join());
          expect(table.size).toBe(rows.length);
          expect(table.find(...asked)).toBe(first < 0 ? undefined : first);
          const flipped = asked.map((bytes, part) => (part === 0 ? bytes.with(index % 32, 7) : bytes));
          expect(table.find(...flipped)).toBeUndefined();
        },
      ),
    );
  });

  it.each(["", "ab", `${"ab".repeat(31)}xx`, "ab".repeat(33), ` ${"ab".repeat(32)}`])(
    "rejects the digest %j",
    (text) => {
      expect(() => new SecretTable([["a", text]])).toThrow("a secret needs a SHA-256 of 64 hex digits");
      expect(parseDigest(text)).toBeUndefined();
    },
  );

  it("gives one secret to all its holders, in the order of the credentials, letters folded", async () => {
    const table = new BearerTable({
      secrets: [
        { holder: "b", tokenSha256: sha256("one") },
        { holder: "a", tokenSha256: sha256("one").toUpperCase() },
        { holder: "c", tokenSha256: sha256("two") },
      ],
      setting: "x",
    });
    expect([...(await table.holdersOf("one"))!]).toEqual(["b", "a"]);
    expect(await table.holdersOf("three")).toBeUndefined();
  });
});

describe("a token of an issuer", () => {
  let key: SigningKey;
  beforeAll(async () => {
    key = await makeKey("k");
  });

  it("is known beside secrets; text that is no JSON Web Token is unknown", async () => {
    const table = new BearerTable({
      oidc: [{ holder: "east", issuer: ISSUER, audience: AUDIENCE, keys: inlineKeys({ keys: [key.jwk] }) }],
      setting: "x",
      clock: () => NOW,
    });
    expect([...(await table.holdersOf(await key.token()))!]).toEqual(["east"]);
    expect(await table.holdersOf("abc")).toBeUndefined();
  });

  it.each([
    ["a minute where it expires later", 600, 60_000],
    ["its expiry", 20, 20_000],
  ])("is verified once until %s", async (_, exp, milliseconds) => {
    const token = await key.token({ exp });
    let [now, verified] = [NOW, 0];
    const holdersOf = async () => new Set([`verified ${++verified}`]);
    const memory = new TokenMemory({ holdersOf }, () => now);
    const ask = async () => [...(await memory.holdersOf(token, new Uint8Array([1, 2])))!];
    expect(await ask()).toEqual(["verified 1"]);
    now = NOW + milliseconds - 1;
    expect(memory.holdersOf(token, new Uint8Array([1, 2]))).toEqual(new Set(["verified 1"]));
    now = NOW + milliseconds;
    expect(await ask()).toEqual(["verified 2"]);
  });

  it("is not remembered if its holder is unknown or verification fails", async () => {
    const token = await key.token();
    let calls = 0;
    const unknown = new TokenMemory({ holdersOf: async () => void calls++ as undefined }, () => NOW);
    const digest = new Uint8Array(32);
    expect(await unknown.holdersOf(token, digest)).toBeUndefined();
    expect(await unknown.holdersOf(token, digest)).toBeUndefined();
    expect(calls).toBe(2);
  });
});

describe("keys of an issuer (RFC 7518)", () => {
  const RSA = { kty: "RSA", n: "n", e: "AQAB" };

  it.each<[unknown, string[]]>([
    [null, []],
    [undefined, []],
    ["d", []],
    [RSA, []],
    [{ ...RSA, d: "" }, ["d"]],
    [{ kty: "oct", k: "secret" }, ["k"]],
    [Object.create({ d: "inherited" }), []],
    [{ qi: 1, p: 1, q: 1, dp: 1, dq: 1, oth: 1, d: 1, k: 1 }, ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]],
  ])("%j has the private parts %j", (value, parts) => {
    expect(privatePartsOf(value)).toEqual(parts);
  });

  it("leaves out keys of other kinds, and those with private parts", () => {
    const keys = [RSA, null, { kty: "oct" }, { ...RSA, d: "x" }, { kty: "EC" }, { kty: "OKP" }, {}];
    expect(usableKeys({ keys })).toEqual({ keys: [RSA, { kty: "EC" }, { kty: "OKP" }] });
    expect(() => usableKeys(undefined)).toThrow("there is no key set");
    expect(() => usableKeys({ keys: {} })).toThrow("there is no key set");
  });

  it("rejects a set with a private part, and repeats no value", () => {
    expect(() => checkPublic({ keys: [RSA, { kty: "oct" }] })).not.toThrow();
    const check = () => checkPublic({ keys: [RSA, { ...RSA, d: "secret", p: "secret" }] });
    expect(check).toThrow(PrivateKeyShown);
    expect(check).toThrow(
      "keys[1] has d, p, of a private or shared key: use the public key only, and let the issuer make a new key, since this one is no longer secret",
    );
  });
});
