import type { X509Certificate } from "node:crypto";
import { type CertificateIdentity, plainFingerprint } from "../../../access/certificates.ts";

/** The names in a certificate; none if they cannot be separated with certainty. */
export function identityOf(certificate: X509Certificate): CertificateIdentity {
  const names = readAlternativeNames(certificate.subjectAltName ?? "") ?? [];
  const commonNames = certificate.subject?.split("\n").filter((line) => line.startsWith("CN=")) ?? [];
  return {
    fingerprintSha256: plainFingerprint(certificate.fingerprint256),
    commonName: commonNames.length === 1 ? commonNames[0]!.slice("CN=".length) : undefined,
    uris: names.flatMap(([kind, value]) => (kind === "URI" ? [value] : [])),
    dnsNames: names.flatMap(([kind, value]) => (kind === "DNS" ? [value.toLowerCase()] : [])),
  };
}

/**
 * The names in Node's text of the extension: `DNS:a.example, URI:"spiffe://…"`. Values with a comma or a quote
 * are JSON strings, so that one value cannot look like two (CVE-2021-44532). Undefined for text of another form.
 */
export function readAlternativeNames(text: string): (readonly [kind: string, value: string])[] | undefined {
  const names: (readonly [string, string])[] = [];
  const name = /([A-Za-z][A-Za-z0-9 ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  while (name.lastIndex < text.length) {
    const found = name.exec(text);
    if (found === null) return undefined;
    const [, kind, value] = found as unknown as [string, string, string];
    try {
      names.push([kind, value.startsWith('"') ? String(JSON.parse(value)) : value]);
    } catch {
      return undefined;
    }
  }
  return names;
}
