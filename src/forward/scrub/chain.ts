import { RecordType } from "../../dns/codes.ts";
import type { Entry } from "./record-entries.ts";
import type { ScrubRules } from "./scrub-rules.ts";
import { readWireName, type WireName } from "./wire-name.ts";

/** A question. */
export interface Asked {
  readonly name: WireName;
  readonly type: number;
  readonly class: number;
}

/** The names from a question's name along CNAME records (RFC 1034 section 3.6.2). */
export interface Chain {
  readonly asked: Asked;
  /** Keys of the names, the question's first. */
  readonly names: ReadonlySet<string>;
  /** The name that has the records of the question's type. */
  readonly last: WireName;
  /** The CNAME records that were followed. */
  readonly aliases: ReadonlySet<Entry>;
  /** Whether it ends with a CNAME record whose target is in the gateway's zones, which the question's name is allowed to have. */
  readonly leadsHome: boolean;
}

/** Types that can exist beside a CNAME record. */
const NOT_FOLLOWED: ReadonlySet<number> = new Set([
  RecordType.CNAME,
  RecordType.RRSIG,
  RecordType.NSEC,
  RecordType.ANY,
]);

/**
 * Follows the CNAME records of an answer, in any order; of several at one name it uses the first. Undefined if a target is in the gateway's
 * zones.
 */
export function followChain(
  bytes: Uint8Array,
  entries: readonly Entry[],
  asked: Asked,
  rules: ScrubRules,
): Chain | undefined {
  const names = new Set([asked.name.key]);
  const aliases = new Set<Entry>();
  let last = asked.name;
  const chain = (leadsHome: boolean): Chain => ({ asked, names, last, aliases, leadsHome });
  if (NOT_FOLLOWED.has(asked.type)) return chain(false);
  const byOwner = new Map<string, Entry>();
  for (const entry of entries)
    if (isAlias(entry, asked) && !byOwner.has(entry.owner.key)) byOwner.set(entry.owner.key, entry);
  for (;;) {
    const alias = byOwner.get(last.key);
    const target = alias && readWireName(bytes, alias.place.dataStart);
    if (alias === undefined || target?.end !== alias.place.end || names.has(target.key)) return chain(false);
    if (rules.isOurs(target.folded)) {
      if (!rules.isTrusted(asked.name.key)) return undefined;
      aliases.add(alias);
      return chain(true);
    }
    aliases.add(alias);
    names.add(target.key);
    last = target;
  }
}

function isAlias({ section, place }: Entry, asked: Asked): boolean {
  return section === 0 && place.type === RecordType.CNAME && place.class === asked.class;
}
