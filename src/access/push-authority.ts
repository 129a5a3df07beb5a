import { AccessRefused } from "./access-refused.ts";
import { type CertificateCredential, clustersOfCertificate, describeCertificate } from "./certificates.ts";
import type { ClientCertificate } from "./client/client.ts";
import { bearerToken, type Credentials } from "./credentials.ts";
import { createOidcVerifier, type OidcCredential } from "./oidc.ts";

/** Everything by which clusters are known. */
export interface PushCredentials {
  readonly secrets: Credentials;
  readonly oidc?: readonly OidcCredential<string>[];
  readonly certificates?: readonly CertificateCredential[];
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}

/** Says which cluster a request may write. */
export interface PushAuthority extends Credentials {
  /**
   * @param shown the client certificate of the connection, where there is one
   * @throws {AccessRefused} where the request shows nothing that is known, or something of another cluster
   */
  authorize(
    authorization: string | undefined,
    shown: ClientCertificate | undefined,
    clusterId: string,
  ): Promise<void>;
}

/**
 * The authority over pushes: bearer secrets, tokens of issuers and client certificates. An Authorization field decides alone
 * where there is one: a wrong token is never made good by a certificate.
 */
export function createPushAuthority(credentials: PushCredentials): PushAuthority {
  const { secrets, oidc = [], certificates = [], clock } = credentials;
  const verifier = oidc.length === 0 ? undefined : createOidcVerifier(oidc, "push.credentials", clock);

  const ofToken = async (authorization: string | undefined): Promise<ReadonlySet<string> | undefined> => {
    const known = await secrets.clustersOf(authorization);
    if (known === undefined || known.size > 0 || verifier === undefined) return known;
    return (await verifier.holdersOf(bearerToken(authorization)!)) ?? known;
  };

  return {
    async clustersOf(authorization) {
      try {
        return await ofToken(authorization);
      } catch (error) {
        if (error instanceof AccessRefused) return new Set();
        throw error;
      }
    },
    async authorize(authorization, shown, clusterId) {
      const clusters = (await ofToken(authorization)) ?? ofCertificate(certificates, shown);
      if (clusters.has(clusterId)) return;
      if (clusters.size === 0)
        throw new AccessRefused("UNKNOWN_TOKEN", "the gateway does not know this bearer token");
      throw new AccessRefused(
        "OTHER_CLUSTER",
        `what the request shows is of another cluster than "${clusterId}"`,
      );
    },
  };
}

/** @throws {AccessRefused} where there is no certificate, or none of a cluster */
function ofCertificate(
  certificates: readonly CertificateCredential[],
  shown: ClientCertificate | undefined,
): ReadonlySet<string> {
  const status = certificates.length === 0 ? "none" : (shown?.certificate ?? "none");
  const identity = status === "verified" ? shown?.certificateIdentity : undefined;
  if (identity !== undefined) {
    const clusters = clustersOfCertificate(certificates, identity);
    if (clusters.size > 0) return clusters;
    throw new AccessRefused(
      "UNKNOWN_CERTIFICATE",
      `no credential is for the client certificate with ${describeCertificate(identity)}: add one to the gateway's push.credentials`,
    );
  }
  if (status === "refused")
    throw new AccessRefused(
      "CERTIFICATE_REFUSED",
      "the client certificate is not one of the authorities that this gateway trusts (tls.clientCaFile), or not valid now",
    );
  throw new AccessRefused(
    "TOKEN_REQUIRED",
    certificates.length === 0
      ? "an Authorization field with a bearer token is required"
      : "an Authorization field with a bearer token, or a client certificate, is required",
  );
}
