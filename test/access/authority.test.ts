import { describe, expect, it } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import {
  type AccessRejection,
  type CertificateIdentity,
  type CertificatePattern,
  type ClientCertificate,
  describeCertificate,
  fitsCertificate,
  UNTRUSTED_CERTIFICATE,
} from "../../src/access/client.ts";
import { secretsOf, sha256 } from "./authorities.ts";

const PIN = "ab".repeat(32);
const identity = (uris: readonly string[], fingerprintSha256 = "cd".repeat(32)) => ({
  fingerprintSha256,
  commonName: undefined,
  uris,
  dnsNames: [],
});
const verified = (...uris: string[]): ClientCertificate => ({
  certificate: "verified",
  certificateIdentity: identity(uris),
});

const secrets = secretsOf([{ clusterId: "east", tokenSha256: sha256("one") }]);
const certificates = [
  { san: "spiffe://x/east", holder: { credential: "east-cert", clusterId: "east" } },
  { san: "spiffe://x/west", holder: { credential: "west-cert", clusterId: "west" } },
  { fingerprintSha256: PIN, holder: { credential: "pinned", clusterId: "north" } },
];
const authority = createAuthority({ secrets, certificates });
const NO_TOKEN = "the request has no bearer token";
const SOUTH = "spiffe://x/south";
const OF_NOBODY = `no credential is for the client certificate with the names "${SOUTH}" and the SHA-256 fingerprint ${"cd".repeat(32)}: add one to the gateway's push.credentials`;
const NEITHER = `${NO_TOKEN} and no client certificate: send a token in an Authorization field, or a certificate`;

const identify = async (shown: ClientCertificate | undefined, authorization?: string) =>
  [...(await authority.identify(authorization, shown))].map(({ credential }) => credential);

describe("a client certificate", () => {
  it("has the holders whose pattern fits", async () => {
    expect(await identify(verified("spiffe://x/east"))).toEqual(["east-cert"]);
    expect(await identify(verified("spiffe://x/west", "spiffe://x/east"))).toEqual([
      "east-cert",
      "west-cert",
    ]);
    const pinned: ClientCertificate = { certificate: "verified", certificateIdentity: identity([], PIN) };
    expect(await identify(pinned)).toEqual(["pinned"]);
  });

  it.each<[string, ClientCertificate | undefined, AccessRejection, string]>([
    [
      "of nobody is rejected, with its names and its fingerprint",
      verified(SOUTH),
      "UNKNOWN_CERTIFICATE",
      OF_NOBODY,
    ],
    [
      "that the host rejects is rejected, whatever it names",
      { ...verified("spiffe://x/east"), certificate: "refused" },
      "CERTIFICATE_REFUSED",
      UNTRUSTED_CERTIFICATE,
    ],
    ["that is absent is required", undefined, "TOKEN_REQUIRED", NEITHER],
    ["that is none is required", { certificate: "none" }, "TOKEN_REQUIRED", NEITHER],
  ])("%s", async (_, shown, code, message) => {
    const rejection = { code, message, credential: undefined };
    await expect(authority.identify(undefined, shown)).rejects.toMatchObject(rejection);
  });

  it("does not count beside a token, nor where no credential is a certificate", async () => {
    const west = verified("spiffe://x/west");
    expect(await identify(west, "Bearer one")).toEqual(["east"]);
    await expect(identify(west, "Bearer two")).rejects.toMatchObject({
      code: "UNKNOWN_TOKEN",
      message: "the gateway does not know this bearer token",
    });
    const tokensOnly = createAuthority({ secrets });
    for (const shown of [west, { certificate: "refused" as const }, undefined])
      await expect(tokensOnly.identify(undefined, shown)).rejects.toMatchObject({
        code: "TOKEN_REQUIRED",
        message: `${NO_TOKEN}: send one in an Authorization field`,
      });
  });
});

it("writing a cluster is allowed to a holder of that cluster, also if the certificate has other holders", async () => {
  const both = verified("spiffe://x/west", "spiffe://x/east");
  expect(await authority.authorize(undefined, both, "west")).toEqual(certificates[1]!.holder);
  expect(await authority.authorize("Bearer one", undefined, "east")).toEqual(secrets[0]!.holder);
});

describe("the clusters of an Authorization field", () => {
  it("are none known for the scheme alone, and for a token that is longer than any that is read", async () => {
    expect(await authority.clustersOf("Bearer")).toBeUndefined();
    expect(await authority.clustersOf(`Bearer ${"t".repeat(16_385)}`)).toEqual(new Set());
  });

  it("has none for a secondary, which is no cluster", async () => {
    const transfer = createAuthority({
      secrets: [{ holder: { credential: "edge" }, tokenSha256: sha256("one") }],
    });
    expect(await transfer.clustersOf("Bearer one")).toEqual(new Set());
  });

  it("fails with errors that are not about the token", async () => {
    const broken = createAuthority({ secrets, sha256: () => Promise.reject(new Error("no SHA-256 here")) });
    await expect(broken.clustersOf("Bearer one")).rejects.toThrow("no SHA-256 here");
  });
});

describe("a certificate (RFC 5280 section 4.2.1.6)", () => {
  const names = { commonName: "web", uris: ["spiffe://x/Web"], dnsNames: ["web.example"] };
  const web: CertificateIdentity = { fingerprintSha256: PIN, ...names };

  it.each<[CertificatePattern, boolean]>([
    [{}, false],
    [{ san: "spiffe://x/Web" }, true],
    [{ san: "spiffe://x/web" }, false],
    [{ san: "WEB.example" }, true],
    [{ fingerprintSha256: PIN }, true],
    [{ fingerprintSha256: PIN.toUpperCase().replace(/..(?=.)/g, "$&:") }, true],
    [{ san: "web.example", fingerprintSha256: PIN }, true],
    [{ san: "web.example", fingerprintSha256: "ba".repeat(32) }, false],
    [{ san: "api.example", fingerprintSha256: PIN }, false],
  ])("fits %j: %s", (pattern, expected) => {
    expect(fitsCertificate(pattern, web)).toBe(expected);
  });

  it.each<[Partial<CertificateIdentity>, string]>([
    [{}, 'the names "spiffe://x/Web", "web.example"'],
    [{ uris: [], dnsNames: [] }, "no name"],
    [{ uris: ["u".repeat(201)], dnsNames: [] }, `the names "${"u".repeat(200)}"`],
    [{ uris: Array(11).fill("n"), dnsNames: [] }, `the names ${Array(10).fill('"n"').join(", ")}`],
  ])("with %j has %s in messages", (changes, expected) => {
    expect(describeCertificate({ ...web, ...changes })).toBe(
      `${expected} and the SHA-256 fingerprint ${PIN}`,
    );
  });
});
