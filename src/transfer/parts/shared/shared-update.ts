import type { ClusterTerms } from "../../../gateway/doh-gateway.ts";
import type { NamedBytes } from "../../transfer-state.ts";

/** What a scope answers from, as far as it is not as in the update before. */
export interface SharedScope {
  /** Undefined while names cannot be denied. */
  readonly root: NamedBytes | undefined;
  /** SOA serial. */
  readonly serial: number;
  /** Where answers say that they are stale: since when. */
  readonly behindSince: number | undefined;
  /** The clusters that changed, or are new, by id. */
  readonly clusters: ReadonlyMap<string, ClusterTerms>;
  /** Ids of clusters that are not known any more. */
  readonly forgotten: readonly string[];
}

/** A change of what a gateway serves, as the thread that compiles posts it to those that answer. The bytes are in shared memory. */
export interface SharedUpdate {
  /** Parts that are new. */
  readonly added: readonly NamedBytes[];
  /** Hashes of parts that no scope has any more. */
  readonly dropped: readonly string[];
  /** The scopes that changed, by `visibilityKey`. */
  readonly scopes: ReadonlyMap<string, SharedScope>;
}
