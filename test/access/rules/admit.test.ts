import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AdmitSettings,
  createAdmit,
  type RuleCredentials,
  type ShownRequest,
} from "../../../src/access/admission.ts";
import type { Client } from "../../../src/access/client.ts";
import { CredentialMemory } from "../../../src/access/memory.ts";
import { inlineKeys } from "../../../src/access/oidc.ts";
import { type Admission, createAccessRules } from "../../../src/access/rule.ts";
import { SecretTable, type Sha256 } from "../../../src/access/secrets.ts";
import { EVERYTHING, type Visibility } from "../../../src/merge/visibility.ts";
import { certified, sha256 } from "../authorities.ts";
import { AUDIENCE, ISSUER, makeKey } from "../issuers.ts";

const atOnce: Sha256 = (bytes) => createHash("sha256").update(bytes).digest();

interface Asked extends ShownRequest {
  readonly address?: string;
}

/** A request with what the host knows of it. */
function asked({
  authorization,
  ...more
}: Partial<Omit<Asked, "header">> & { authorization?: string }): Asked {
  const header = (name: string) => (name === "authorization" ? (authorization ?? null) : null);
  return { url: "/dns-query?dns=AAAA", host: "gateway.example", client: undefined, ...more, header };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
const certificate = (san: string) => ({ client: certified(san) });

const rules: AdmitSettings["credentials"] = [
  { name: "laptops", bearer: [sha256("laptop-1"), sha256("laptop-2")] },
  {
    name: "scripts",
    basic: [
      { username: "ci", passwordSha256: sha256("secret") },
      { username: "Zoë", passwordSha256: sha256("pässword") },
    ],
  },
  { name: "phones", pathTokens: [sha256("phone")] },
  { name: "coredns", hostTokens: [sha256("resolver")] },
  {
    name: "pods",
    certificates: [{ san: "spiffe://example.org/pod" }, { fingerprintSha256: sha256("pinned") }],
  },
  { name: "office", addresses: ["192.0.2.0/24", "2001:db8::/32"] },
];

interface Settings extends Partial<Omit<AdmitSettings, "rules" | "credentials">> {
  readonly everybody?: Visibility | undefined;
  readonly rules?: AdmitSettings["credentials"];
}

function authority(more: Settings = {}) {
  const { everybody, rules: own = rules, ...rest } = more;
  const access = createAccessRules(
    everybody,
    own.map(({ name }) => ({ name, scope: { namespaces: [name] } })),
  );
  const admit = createAdmit({
    rules: access,
    credentials: own,
    hostNames: ["doh.example.org"],
    publicHasTokens: false,
    clientAddress: (request) => (request as Asked).address,
    sha256: atOnce,
    ...rest,
  });
  return { access, admit: (request: Parameters<typeof asked>[0]) => admit(asked(request)) };
}

const resultOf = (admission: Admission) =>
  admission.rule !== undefined ? admission.rule.name : [admission.status, admission.code, admission.outcome];

const MISSING = [401, "TOKEN_REQUIRED", "missing"] as const;
const TOKEN = [401, "UNKNOWN_TOKEN", "unknown"] as const;
const PASSWORD = [401, "UNKNOWN_PASSWORD", "unknown"] as const;
const UNKNOWN = [
  ["no credential", {}, MISSING],
  ["another bearer token", bearer("laptop-3"), TOKEN],
  ["a malformed bearer token", bearer("a b"), TOKEN],
  ["a path token as a bearer token", bearer("phone"), TOKEN],
  ["the hash of a token", bearer(sha256("laptop-1")), TOKEN],
  ["another password", basic("ci:secre"), PASSWORD],
  ["the password of another user", basic("Zoë:secret"), PASSWORD],
  ["malformed Basic", { authorization: "Basic !" }, PASSWORD],
  ["a scheme that ends like Bearer", { authorization: "xBearer laptop-1" }, MISSING],
  ["a host without a token", { host: "doh.example.org" }, MISSING],
  ["another path token", { url: "/tokens/other/dns-query" }, MISSING],
  ["another host token", { host: "other.doh.example.org" }, MISSING],
  ["another certificate", certificate("spiffe://example.org/other"), [403, "UNKNOWN_CERTIFICATE", "unknown"]],
  [
    "a certificate that is not trusted",
    { client: { certificate: "refused" } },
    [403, "CERTIFICATE_REFUSED", "unknown"],
  ],
  ["another address", { address: "192.0.3.7" }, MISSING],
] as const;

describe("a client", () => {
  it("is found by its name among users with one password", async () => {
    const passwordSha256 = sha256("secret");
    const own = ["one", "two"].map((name) => ({ name, basic: [{ username: name, passwordSha256 }] }));
    const { admit } = authority({ rules: own });
    for (const name of ["one", "two"]) expect(resultOf(await admit(basic(`${name}:secret`)))).toBe(name);
    expect(resultOf(await admit(basic("three:secret")))).toEqual(PASSWORD);
  });

  it.each(UNKNOWN)("with %s is refused, or public unless it is wrong", async (_, request, refusal) => {
    expect(resultOf(await authority().admit(request))).toEqual(refusal);
    const admission = await authority({ everybody: EVERYTHING }).admit(request);
    expect(resultOf(admission)).toEqual(
      refusal[1].startsWith("UNKNOWN_") && refusal[0] === 401 ? refusal : "public",
    );
  });

  it("may have the token of a cluster that pushes, which the public rule accepts", async () => {
    const { admit } = authority({ everybody: EVERYTHING, publicHasTokens: true });
    expect(resultOf(await admit(bearer("token-of-a-cluster")))).toBe("public");
    expect(resultOf(await admit(bearer("laptop-1")))).toBe("laptops");
    expect(resultOf(await admit(basic("ci:wrong")))).toEqual(PASSWORD);
  });

  it("has the rule of its first credential: path, host name, Authorization, certificate, address", async () => {
    const { admit } = authority();
    let request = {};
    for (const [more, rule] of [
      [{ address: "192.0.2.7" }, "office"],
      [certificate("pinned"), "pods"],
      [bearer("laptop-1"), "laptops"],
      [{ host: "resolver.doh.example.org" }, "coredns"],
      [{ url: "/tokens/phone/" }, "phones"],
    ] as const) {
      request = { ...request, ...more };
      expect(resultOf(await admit(request))).toBe(rule);
    }
    // No other credential makes up for a wrong token.
    expect(resultOf(await admit({ ...bearer("x"), ...certificate("pinned"), address: "192.0.2.7" }))).toEqual(
      TOKEN,
    );
  });

  it("has the public rule without a promise, with any credential, if no rule has credentials", () => {
    const { admit, access } = authority({
      everybody: EVERYTHING,
      rules: [{ name: "listeners", bearer: [] }],
    });
    for (const [, request] of UNKNOWN) expect(admit(request)).toEqual({ rule: access.public });
  });
});

it.each([
  [16_384, "UNKNOWN_TOKEN"],
  [16_385, "TOKEN_TOO_LONG"],
])("a bearer token of %i characters is rejected as %s", async (length, code) => {
  expect(resultOf(await authority().admit(bearer("a".repeat(length))))).toEqual([401, code, "unknown"]);
});

it("secrets have the holder of the first match, among any number", () => {
  const secrets = fc.array(fc.constantFrom("a", "b", "c", "e"));
  fc.assert(
    fc.property(secrets, fc.constantFrom("a", "b", "d"), (held, given) => {
      const table = new SecretTable(held.map((text, index) => [index, sha256(text)]));
      const hash = atOnce(new TextEncoder().encode(given)) as Uint8Array;
      const at = (held as string[]).indexOf(given);
      expect(table.find(hash)).toBe(at === -1 ? undefined : at);
    }),
  );
});

describe("the token of a connection", () => {
  const LONG = "a".repeat(600);
  const LAPTOPS: RuleCredentials = {
    name: "laptops",
    bearer: [sha256("laptop-1"), sha256("laptop-2"), sha256(LONG)],
  };
  const connection = (isOfConnection = true): Partial<Client> => ({ isOfConnection });

  /** Admits requests with a bearer token, and counts how often one was hashed. */
  function admission(own: readonly RuleCredentials[]) {
    const counted = { hashes: 0 };
    const hashing: Sha256 = (bytes) => {
      counted.hashes++;
      return atOnce(bytes);
    };
    const { admit } = authority({ rules: own, sha256: hashing, memory: new CredentialMemory() });
    const ruleOf = async (client: Partial<Client>, token: string) =>
      (await admit({ client, ...bearer(token) })).rule?.name;
    return { counted, ruleOf };
  }

  it.each<[string, tokens: string, hashes: number, connection?: boolean]>([
    ["a connection's token is hashed once", "laptop-1 laptop-1 laptop-1", 1],
    ["another valid token replaces the one before", "laptop-1 laptop-2 laptop-2 laptop-1", 3],
    ["an unknown token is hashed each time, and replaces none", "laptop-1 !laptop-3 !laptop-3 laptop-1", 3],
    ["so is a shorter one", "laptop-1 !laptop- !laptop- laptop-1", 3],
    ["so is a longer one", "laptop-1 !laptop-11 !laptop-11 laptop-1", 3],
    ["a client that is known for one request only is not remembered", "laptop-1 laptop-1", 2, false],
    ["a token of more than 512 characters is hashed each time", `${LONG} ${LONG}`, 2],
  ])("%s", async (_, tokens, hashes, isOfConnection) => {
    const { counted, ruleOf } = admission([LAPTOPS]);
    const client = connection(isOfConnection);
    for (const token of tokens.split(" "))
      expect(await ruleOf(client, token.replace("!", "")), token).toBe(
        token.startsWith("!") ? undefined : "laptops",
      );
    expect(counted.hashes).toBe(hashes);
  });

  it("another connection has to show its own token", async () => {
    const { counted, ruleOf } = admission([LAPTOPS]);
    for (let request = 0; request < 2; request++)
      expect(await ruleOf(connection(), "laptop-1")).toBe("laptops");
    expect(counted.hashes).toBe(2);
  });

  it("a token that is withdrawn is rejected on a connection that it was shown on", async () => {
    const client = connection();
    expect(await admission([LAPTOPS]).ruleOf(client, "laptop-1")).toBe("laptops");
    const later = admission([{ name: "laptops", bearer: [sha256("laptop-2")] }]);
    expect(await later.ruleOf(client, "laptop-1")).toBeUndefined();
  });

  it("nothing is remembered where tokens of issuers are valid, too: those expire", async () => {
    const key = await makeKey("key-1");
    const keys = inlineKeys({ keys: [key.jwk] });
    const people = {
      name: "people",
      oidc: [{ issuer: ISSUER, audience: AUDIENCE, keys, subjects: ["robot"] }],
    };
    const { counted, ruleOf } = admission([LAPTOPS, people]);
    const client = connection();
    for (let request = 0; request < 2; request++) expect(await ruleOf(client, "laptop-1")).toBe("laptops");
    expect(counted.hashes).toBe(2);
  });
});
