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

/** What a host knows of the certificate that a client showed. `certificateIdentity` is read only where it counts. */
export interface ShownCertificate {
  readonly clientCertificate?: "none" | "refused" | "verified" | undefined;
  /** Absent unless the certificate is verified. */
  readonly certificateIdentity?: CertificateIdentity | undefined;
}

/** Lets whoever shows a certificate of a trusted authority write one cluster. */
export interface CertificateCredential {
  readonly clusterId: string;
  /** A URI or DNS name among the certificate's subject alternative names, exactly. */
  readonly san?: string | undefined;
  /** The certificate itself: 64 hex digits, colons do not count. */
  readonly fingerprintSha256?: string | undefined;
}

/** The clusters that the holder of a certificate may write. */
export function clustersOfCertificate(
  credentials: readonly CertificateCredential[],
  identity: CertificateIdentity,
): ReadonlySet<string> {
  const clusters = new Set<string>();
  for (const { clusterId, san, fingerprintSha256 } of credentials) {
    if (san === undefined && fingerprintSha256 === undefined) continue;
    const isNamed =
      san === undefined || identity.uris.includes(san) || identity.dnsNames.includes(san.toLowerCase());
    const isPinned =
      fingerprintSha256 === undefined || plainFingerprint(fingerprintSha256) === identity.fingerprintSha256;
    if (isNamed && isPinned) clusters.add(clusterId);
  }
  return clusters;
}

/** A fingerprint as `CertificateIdentity` has it. */
export function plainFingerprint(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}
