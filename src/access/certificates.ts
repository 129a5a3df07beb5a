/** The names in a TLS client certificate (RFC 5280 section 4.2.1.6). */
export interface CertificateIdentity {
  /** SHA-256 over the certificate in DER: 64 hex digits in lower case. */
  readonly fingerprintSha256: string;
  /** The subject's common name; undefined if there is none, or several. For messages only: authorities check the names below. */
  readonly commonName: string | undefined;
  /** Subject alternative names: URIs (such as those of SPIFFE), unchanged. */
  readonly uris: readonly string[];
  /** Subject alternative names: DNS names in lower case. */
  readonly dnsNames: readonly string[];
}

/** Selects certificates of a trusted authority. If both members are set, both have to match. */
export interface CertificatePattern {
  /** A URI or DNS name that the certificate's subject alternative names contain. */
  readonly san?: string | undefined;
  /** The certificate's SHA-256: 64 hex digits; colons are ignored. */
  readonly fingerprintSha256?: string | undefined;
}

/** Whether a pattern selects a certificate. */
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

/** A certificate in words, for messages. */
export function describeCertificate({ uris, dnsNames, fingerprintSha256 }: CertificateIdentity): string {
  const names = [...uris, ...dnsNames].slice(0, 10).map((name) => JSON.stringify(name.slice(0, 200)));
  return `${names.length === 0 ? "no name" : `the names ${names.join(", ")}`} and the SHA-256 fingerprint ${fingerprintSha256}`;
}

/** A fingerprint in the form of `CertificateIdentity`. */
export function plainFingerprint(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}
