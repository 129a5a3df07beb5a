import type { ScopeTerms } from "../../../gateway/doh-gateway.ts";
import type { NamedBytes } from "../../transfer-state.ts";

/** What a scope answers from. */
export interface SharedScope extends ScopeTerms {
  /** Undefined while names cannot be denied. */
  readonly root: NamedBytes | undefined;
  /** SOA serial. */
  readonly serial: number;
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
