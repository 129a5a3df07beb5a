import type { FoldedName } from "../dns/folded-name.ts";

/** The records that a name server has no authority for. */
export interface ScrubRules {
  /** Whether records about a name are rejected: it is in one of the gateway's zones, or is never forwarded. */
  readonly isOurs: (name: FoldedName) => boolean;
  /** Whether a public name may not have an address, which is 4 or 16 bytes. */
  readonly isPrivate: (address: Uint8Array) => boolean;
  /** Whether a name, as a key, may have private addresses and CNAME targets in the gateway's zones. */
  readonly isTrusted: (name: string) => boolean;
}
