import { describe, expect, it } from "vitest";
import { AccessRejected } from "../../../src/access/access-rejected.ts";
import { createAccessRules, hidesAnything, seesEverything } from "../../../src/access/rules/access-rule.ts";
import type { RuleCredentials } from "../../../src/access/rules/admit-settings.ts";
import { readBasicCredentials } from "../../../src/access/rules/basic-credentials.ts";
import { readHostToken } from "../../../src/access/rules/host-token.ts";
import { knownKinds, Rejections } from "../../../src/access/rules/rejections.ts";

const HASH = "ab".repeat(32);
const bearer: RuleCredentials = { name: "a", bearer: [HASH] };
const oidc = { name: "b", oidc: [{}] } as unknown as RuleCredentials;
const basic: RuleCredentials = { name: "c", basic: [{ username: "ci", passwordSha256: HASH }] };
const certificates: RuleCredentials = { name: "d", certificates: [{ san: "a" }] };
const addresses: RuleCredentials = { name: "e", addresses: ["10.0.0.0/8"] };

const of = (...rules: RuleCredentials[]) => new Rejections(knownKinds(rules));

describe("the kinds of credentials", () => {
  it.each<[RuleCredentials[], object]>([
    [[], { bearer: false, basic: false, certificates: false, unseen: false }],
    [[{ name: "a", bearer: [] }], { bearer: false, basic: false, certificates: false, unseen: false }],
    [[bearer], { bearer: true, basic: false, certificates: false, unseen: false }],
    [[oidc], { bearer: true, basic: false, certificates: false, unseen: false }],
    [[basic], { bearer: false, basic: true, certificates: false, unseen: false }],
    [[certificates], { bearer: false, basic: false, certificates: true, unseen: true }],
    [[addresses, bearer], { bearer: true, basic: false, certificates: false, unseen: true }],
  ])("of %j are %j", (rules, expected) => {
    expect(knownKinds(rules)).toEqual(expected);
  });
});

describe("a rejection says what is missing", () => {
  const field = (ways: string) =>
    `this gateway answers known clients only: an Authorization field with ${ways} is required`;
  it.each<[RuleCredentials[], unknown[]]>([
    [[bearer], [401, "TOKEN_REQUIRED", field("a bearer token")]],
    [
      [oidc, addresses],
      [401, "TOKEN_REQUIRED", field("a bearer token")],
    ],
    [
      [basic, certificates],
      [401, "TOKEN_REQUIRED", field("a user name and password")],
    ],
    [
      [basic, bearer],
      [401, "TOKEN_REQUIRED", field("a bearer token, or a user name and password")],
    ],
    [
      [certificates, addresses],
      [
        403,
        "CERTIFICATE_REQUIRED",
        "this gateway answers known clients only: a client certificate is required",
      ],
    ],
    [
      [addresses],
      [403, "NOT_ADMITTED", "this gateway answers known clients only, and this request has no credential"],
    ],
  ])("for %j", (rules, expected) => {
    const { status, code, message, outcome } = of(...rules).nothingKnown(undefined, undefined);
    expect([status, code, message]).toEqual(expected);
    expect(outcome).toBe("missing");
  });

  it("for a certificate of an unknown authority, or of no rule", () => {
    expect(of(bearer, certificates).nothingKnown({ certificate: "refused" }, undefined)).toEqual({
      outcome: "unknown",
      status: 403,
      code: "CERTIFICATE_REFUSED",
      message:
        "no authority that this gateway trusts (tls.clientCaFile) issued the client certificate, or the certificate is not valid now",
    });
    expect(of(bearer, certificates).nothingKnown({ certificate: "verified" }, 'the names "x"')).toEqual({
      outcome: "unknown",
      status: 403,
      code: "UNKNOWN_CERTIFICATE",
      message:
        'no rule is for the client certificate with the names "x": add one to the gateway\'s access.rules',
    });
  });

  it("for an unknown token or password, with the challenges of all schemes", () => {
    const BEARER = 'Bearer realm="clusterset-doh"';
    const BASIC = 'Basic realm="clusterset-doh", charset="UTF-8"';
    expect(of(bearer, basic).unknownToken()).toEqual({
      outcome: "unknown",
      status: 401,
      code: "UNKNOWN_TOKEN",
      message: "the gateway does not know this bearer token",
      challenge: `${BEARER}, error="invalid_token", ${BASIC}`,
    });
    expect(of(basic).unknownPassword()).toEqual({
      outcome: "unknown",
      status: 401,
      code: "UNKNOWN_TOKEN",
      message: "the gateway does not know this user name and password",
      challenge: BASIC,
    });
  });

  it.each([
    ["KEYS_UNAVAILABLE", 503],
    ["UNKNOWN_SUBJECT", 403],
    ["TOKEN_EXPIRED", 401],
  ] as const)("%s has the status %i and the message of the verifier", (code, status) => {
    expect(of(oidc).unknownToken(new AccessRejected(code, "because"))).toMatchObject({
      ...{ status, code, message: "because", outcome: "unknown" },
      ...(status === 401 && { challenge: expect.stringContaining("invalid_token") }),
    });
  });
});

describe("an access rule", () => {
  const rules = (everybody: object | undefined) => createAccessRules(everybody, [{ name: "a", scope: {} }]);

  it("named public exists only for gateways that answer everybody, and comes first", () => {
    expect(rules(undefined).all.map(({ name }) => name)).toEqual(["a"]);
    expect(rules(undefined).public).toBeUndefined();
    expect(rules({}).all.map(({ name, isPublic }) => [name, isPublic])).toEqual([
      ["public", true],
      ["a", false],
    ]);
    expect(() => rules({}).of("b")).toThrow('there is no rule "b"');
  });

  it.each([
    [{}, true, false],
    [{ view: "west" }, false, false],
    [{ namespaces: ["shop"] }, false, true],
    [{ view: "west", namespaces: ["shop"] }, false, true],
  ])("with the visibility %j sees everything: %s, hides anything: %s", (visibility, everything, hides) => {
    const rule = { name: "a", isPublic: false, visibility };
    expect(seesEverything(rule)).toBe(everything);
    expect(hidesAnything(rule)).toBe(hides);
  });
});

describe("credentials of a request", () => {
  it.each([
    ["token.doh.example", "token"],
    ["TOKEN.doh.example.:8443", "token"],
    ["token.doh.example:", "token"],
    ["a.token.doh.example", undefined],
    ["token.doh.example:84x", undefined],
    [".doh.example", undefined],
    ["doh.example", undefined],
  ])("has the host %s the token %s", (host, token) => {
    expect(readHostToken(host, ["other.example", "doh.example"])).toBe(token);
  });

  it("has at most 4,096 characters of a name and password (RFC 7617)", () => {
    const field = (length: number) => `Basic ${Buffer.from(`a:${"p".repeat(length)}`).toString("base64")}`;
    expect(field(3064)).toHaveLength(4094);
    expect(readBasicCredentials(`${field(3064)}  `)?.username).toBe("a");
    expect(readBasicCredentials(`${field(3064)}   `)).toBeUndefined();
  });
});
