import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AdmitSettings, createAdmit, type ShownRequest } from "../../../src/access/admission.ts";
import type { ClientCertificate } from "../../../src/access/client.ts";
import { type Admission, createAccessRules } from "../../../src/access/rule.ts";
import { SecretTable, type Sha256 } from "../../../src/access/secrets.ts";
import { EVERYTHING, type Visibility } from "../../../src/merge/visibility.ts";
import { certified, sha256 } from "../authorities.ts";

const atOnce: Sha256 = (bytes) => createHash("sha256").update(bytes).digest();

interface Asked extends ShownRequest {
  readonly address: string | undefined;
}

/** A request with what the host knows of it. */
function asked(more: {
  url?: string;
  host?: string;
  authorization?: string;
  client?: ClientCertificate;
  address?: string;
}): Asked {
  const { url = "/dns-query?dns=AAAA", host = "gateway.example", authorization, client, address } = more;
  return {
    url,
    host,
    address,
    client,
    header: (name) => (name === "authorization" ? (authorization ?? null) : null),
  };
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

const UNKNOWN = [
  ["no credential", {}, [401, "TOKEN_REQUIRED", "missing"]],
  ["another bearer token", bearer("laptop-3"), [401, "UNKNOWN_TOKEN", "unknown"]],
  ["a malformed bearer token", bearer("a b"), [401, "UNKNOWN_TOKEN", "unknown"]],
  ["the scheme alone", { authorization: "Bearer" }, [401, "UNKNOWN_TOKEN", "unknown"]],
  ["a path token as a bearer token", bearer("phone"), [401, "UNKNOWN_TOKEN", "unknown"]],
  ["the hash of a token", bearer(sha256("laptop-1")), [401, "UNKNOWN_TOKEN", "unknown"]],
  ["another password", basic("ci:secre"), [401, "UNKNOWN_PASSWORD", "unknown"]],
  ["the password of another user", basic("Zoë:secret"), [401, "UNKNOWN_PASSWORD", "unknown"]],
  ["another name", basic("cx:secret"), [401, "UNKNOWN_PASSWORD", "unknown"]],
  ["malformed Basic", { authorization: "Basic !" }, [401, "UNKNOWN_PASSWORD", "unknown"]],
  ["Basic without more", { authorization: "basic" }, [401, "UNKNOWN_PASSWORD", "unknown"]],
  [
    "a scheme that ends like Bearer",
    { authorization: "xBearer laptop-1" },
    [401, "TOKEN_REQUIRED", "missing"],
  ],
  [
    "a scheme that ends like Basic",
    { authorization: "xBasic Y2k6c2VjcmV0" },
    [401, "TOKEN_REQUIRED", "missing"],
  ],
  ["a host without a token", { host: "doh.example.org" }, [401, "TOKEN_REQUIRED", "missing"]],
  ["a scheme that no rule knows", { authorization: "Negotiate abc" }, [401, "TOKEN_REQUIRED", "missing"]],
  ["another path token", { url: "/tokens/other/dns-query" }, [401, "TOKEN_REQUIRED", "missing"]],
  ["another host token", { host: "other.doh.example.org" }, [401, "TOKEN_REQUIRED", "missing"]],
  ["another certificate", certificate("spiffe://example.org/other"), [403, "UNKNOWN_CERTIFICATE", "unknown"]],
  [
    "a certificate that is not trusted",
    { client: { certificate: "refused" } },
    [403, "CERTIFICATE_REFUSED", "unknown"],
  ],
  ["another address", { address: "192.0.3.7" }, [401, "TOKEN_REQUIRED", "missing"]],
  ["text that is not an address", { address: "office" }, [401, "TOKEN_REQUIRED", "missing"]],
] as const;

describe("a client", () => {
  it.each(UNKNOWN)(
    "has the public rule with %s, unless that is a wrong credential",
    async (_, request, refusal) => {
      const admission = await authority({ everybody: EVERYTHING }).admit(request);
      expect(resultOf(admission)).toEqual(
        refusal[1].startsWith("UNKNOWN_") && refusal[0] === 401 ? refusal : "public",
      );
    },
  );

  it("may have the token of a cluster that pushes, which the public rule accepts", async () => {
    const { admit } = authority({ everybody: EVERYTHING, publicHasTokens: true });
    expect(resultOf(await admit(bearer("token-of-a-cluster")))).toBe("public");
    expect(resultOf(await admit(bearer("laptop-1")))).toBe("laptops");
    expect(resultOf(await admit(basic("ci:wrong")))).toEqual([401, "UNKNOWN_PASSWORD", "unknown"]);
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
      [401, "UNKNOWN_TOKEN", "unknown"],
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

describe("a bearer token of more than 16,384 characters", () => {
  it.each([
    [16_384, "UNKNOWN_TOKEN"],
    [16_385, "TOKEN_TOO_LONG"],
  ])("has %i: %s", async (length, code) => {
    expect(resultOf(await authority().admit(bearer("a".repeat(length))))).toEqual([401, code, "unknown"]);
  });
});

describe("secrets", () => {
  it("have the holder of the first match, among any number", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "b", "c", "e")),
        fc.constantFrom("a", "b", "d"),
        (held, given) => {
          const table = new SecretTable(held.map((text, index) => [index, sha256(text)]));
          const at = (held as string[]).indexOf(given);
          expect(table.find(atOnce(new TextEncoder().encode(given)) as Uint8Array)).toBe(
            at === -1 ? undefined : at,
          );
        },
      ),
    );
  });

  it("that are not a SHA-256 are rejected", () => {
    expect(() => new SecretTable([["a", "secret"]])).toThrow(RangeError);
  });
});
