import { equalDigests, parseDigest, sha256BySubtle } from "./digests.ts";

/** Lets whoever holds a token write one cluster. Several may name the same cluster, for rotation. */
export interface ClusterCredential {
  readonly clusterId: string;
  /** SHA-256 of the token (UTF-8), 64 hex digits. */
  readonly tokenSha256: string;
}

/** Tells whom a request is from. */
export interface Credentials {
  /**
   * The clusters that the bearer token of an Authorization field (RFC 6750) stands for: none for an
   * unknown token. Undefined where the field is absent or holds no bearer token.
   */
  clustersOf(authorization: string | undefined): Promise<ReadonlySet<string> | undefined>;
}

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]{1,4096}=*) *$/i;

/** The token of an Authorization field; undefined where the field is absent or holds no bearer token (RFC 6750 section 2.1). */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? "")?.[1];
}

/**
 * Credentials from a list. A token is compared with every credential, in a time that says nothing of how
 * close it came.
 * @throws {RangeError} when a `tokenSha256` is not 64 hex digits.
 */
export function createCredentials(list: readonly ClusterCredential[]): Credentials {
  const known = list.map(({ clusterId, tokenSha256 }) => ({
    clusterId,
    digest: readDigest(clusterId, tokenSha256),
  }));
  return {
    async clustersOf(authorization) {
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      const digest = await sha256BySubtle(new TextEncoder().encode(token));
      const clusters = new Set<string>();
      for (const credential of known)
        if (equalDigests(credential.digest, digest)) clusters.add(credential.clusterId);
      return clusters;
    },
  };
}

function readDigest(clusterId: string, hex: string): Uint8Array {
  const digest = parseDigest(hex);
  if (digest !== undefined) return digest;
  throw new RangeError(`the credential of cluster "${clusterId}" needs a tokenSha256 of 64 hex digits`);
}
