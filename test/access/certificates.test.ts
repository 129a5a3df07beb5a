import { describe, expect, it } from "vitest";
import {
  type CertificateIdentity,
  type CertificatePattern,
  describeCertificate,
  fitsCertificate,
} from "../../src/access/client.ts";

const PIN = "ab".repeat(32);
const web: CertificateIdentity = {
  fingerprintSha256: PIN,
  commonName: "web",
  uris: ["spiffe://x/Web"],
  dnsNames: ["web.example"],
};

describe("a certificate (RFC 5280 section 4.2.1.6)", () => {
  it.each<[CertificatePattern, boolean]>([
    [{}, false],
    [{ san: "spiffe://x/Web" }, true],
    [{ san: "spiffe://x/web" }, false],
    [{ san: "WEB.example" }, true],
    [{ san: "web" }, false],
    [{ fingerprintSha256: PIN }, true],
    [{ fingerprintSha256: PIN.toUpperCase().replace(/..(?=.)/g, "$&:") }, true],
    [{ fingerprintSha256: "ba".repeat(32) }, false],
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
    [
      { uris: [], dnsNames: Array.from({ length: 11 }, (_, index) => `n${index}`) },
      'the names "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"',
    ],
  ])("with %j has %s in messages", (names, expected) => {
    expect(describeCertificate({ ...web, ...names })).toBe(`${expected} and the SHA-256 fingerprint ${PIN}`);
  });
});
