import type { FoldedName } from "../../dns/folded-name.ts";

/** What a name server has no say in. */
export interface ScrubRules {
  /** Whether nothing is believed about a name: it is in a zone of ours, or is never forwarded. */
  readonly isOurs: (name: FoldedName) => boolean;
  /** Whether an address, of 4 or 16 bytes, is one that a public name may not have. */
  readonly isPrivate: (octets: Uint8Array) => boolean;
  /** Whether a name, as a key, may have private addresses and CNAME targets of ours. */
  readonly isTrusted: (name: string) => boolean;
}
