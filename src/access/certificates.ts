/** Whom a TLS client certificate is of (RFC 5280 section 4.2.1.6). */
export interface CertificateIdentity {
  /** SHA-256 over the certificate in DER: 64 hex digits in lower case. */
  readonly fingerprintSha256: string;
  /** The subject's common name; undefined where it has none, or several. For messages: authorities check names, not this. */
  readonly commonName: string | undefined;
  /** Subject alternative names: URIs (as of SPIFFE) as they stand. */
  readonly uris: readonly string[];
  /** Subject alternative names: DNS names in lower case. */
  readonly dnsNames: readonly string[];
}

/** Which certificates count, of those of a trusted authority: both have to fit where both are given. */
export interface CertificatePattern {
  /** A URI or DNS name among the certificate's subject alternative names, exactly. */
  readonly san?: string | undefined;
  /** The certificate itself: 64 hex digits, colons do not count. */
  readonly fingerprintSha256?: string | undefined;
}

/** Whether a certificate is one of those. */
export function fitsCertificate(
  { san, fingerprintSha256 }: CertificatePattern,
  identity: CertificateIdentity,
): boolean {
  if (san === undefined && fingerprintSha256 === undefined) return false;
  const isNamed =
    san === undefined || identity.uris.includes(san) || identity.dnsNames.includes(san.toLowerCase());
  const isPinned =
    fingerprintSha256 === undefined || plainFingerprint(fingerprintSha256) === identity.fingerprintSha256;
  return isNamed && isPinned;
}

/** A certificate in words, for its holder. */
export function describeCertificate({ uris, dnsNames, fingerprintSha256 }: CertificateIdentity): string {
  const names = [...uris, ...dnsNames].slice(0, 10).map((name) => JSON.stringify(name.slice(0, 200)));
  return `${names.length === 0 ? "no name" : `the names ${names.join(", ")}`} and the SHA-256 fingerprint ${fingerprintSha256}`;
}

/** A fingerprint as `CertificateIdentity` has it. */
export function plainFingerprint(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}
