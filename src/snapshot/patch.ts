/**
 * A delta between two snapshots of one cluster: an RFC 7396 JSON merge patch on the snapshot, so that
 * null removes a member and one changed endpoint costs bytes in proportion to that endpoint.
 */
export type SnapshotPatch = { readonly [key: string]: unknown };
