import { createHash } from "node:crypto";
import { createAuthority, type Holder, type PushAuthority } from "../../src/access/authority.ts";
import type { ClientCertificate } from "../../src/access/client.ts";
import type { BearerSecret } from "../../src/access/secrets.ts";

/** The digest that a credential holds of a token. */
export const sha256 = (token: string) => createHash("sha256").update(token).digest("hex");

/** A trusted client certificate with a URI. @param fingerprintSha256 default: that of the URI's text */
export const certified = (uri: string, fingerprintSha256 = sha256(uri)): ClientCertificate => ({
  certificate: "verified",
  certificateIdentity: { fingerprintSha256, commonName: undefined, uris: [uri], dnsNames: [] },
});

/** A bearer secret of a cluster. */
export interface ClusterSecret {
  readonly clusterId: string;
  readonly tokenSha256: string;
}

/** Secrets of clusters, each credential named after its cluster. */
export function secretsOf(list: readonly ClusterSecret[]): BearerSecret<Holder>[] {
  return list.map(({ clusterId, tokenSha256 }) => ({
    holder: { credential: clusterId, clusterId },
    tokenSha256,
  }));
}

/** An authority that knows clusters by secrets alone. */
export function authorityOf(list: readonly ClusterSecret[]): PushAuthority {
  return createAuthority({ secrets: secretsOf(list) });
}
