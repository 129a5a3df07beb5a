import { createAuthority, type Holder, type PushAuthority } from "../../src/access/authority.ts";
import type { BearerSecret } from "../../src/access/secrets.ts";

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
