import { sharedText } from "../../../snapshot/held/shared-text.ts";
import type { Branch } from "../../generation/directory.ts";
import type { AddressId } from "../../reverse/address-id.ts";
import { AddressList } from "../../reverse/wanted-addresses.ts";
import type { Segment } from "../../segment/segment.ts";
import { type DottedName, dottedOf, type NameKey, type NotedKey } from "../name-keys.ts";
import type { Stem, StemCounts } from "../stems.ts";
import { headOf, partsOf } from "./compiler-notes.ts";

/** What is known of a leaf that is not in memory: its keys with `ZoneSource.noteOf` and whether they have findings, and how many of them have each stem. */
type Head = readonly [
  ...[hash: string, weight: number, dotted: readonly DottedName[]],
  ...[keys: readonly (readonly [key: string, size: number | null, hasFindings: boolean])[]],
  stems: readonly (readonly [stem: Stem, keys: number])[],
];
/** The rest of a key, in the order of the head: its range, weight, indexes of its stems, its objects in own zones, and addresses. */
type Rest = readonly [
  ...[weight: number, start: number, end: number],
  ...[stems: readonly number[], locals: NameKey["locals"], addresses: readonly AddressId[]],
];

/** What `writeNames` is told beside the keys. */
export interface KeyFacts {
  readonly noteOf: (key: string) => number | undefined;
  readonly hasFindings: (key: string) => boolean;
}

/** What a leaf of names was compiled to, as text. All of its keys are compiled. */
export function writeNames(
  given: Iterable<NameKey>,
  { hash }: Branch<Segment>,
  { noteOf, hasFindings }: KeyFacts,
): string {
  const keys = [...given];
  const stems = new Map<Stem, number>();
  const counts: number[] = [];
  const indexOf = (stem: Stem) => {
    const index = stems.get(stem) ?? stems.size;
    stems.set(stem, index);
    counts[index] = (counts[index] ?? 0) + 1;
    return index;
  };
  const rest = keys.map(({ weight, locals, compiled }): Rest => {
    const { block, stems: own, addresses } = compiled!;
    return [weight, block.start, block.end, own.map(indexOf), locals, [...addresses]];
  });
  const head: Head = [
    ...([hash, keys.reduce((sum, { weight }) => sum + weight, 0), keys.flatMap(dottedOf)] as const),
    keys.map(({ key }) => [key, noteOf(key) ?? null, hasFindings(key)]),
    Array.from(stems.keys(), (stem, index) => [stem, counts[index]!]),
  ];
  return `${JSON.stringify(head)}\n${JSON.stringify(rest)}`;
}

/** What is known of a leaf of names without its keys' names. */
export interface NamesHead {
  readonly hash: string;
  readonly weight: number;
  readonly count: number;
  readonly dotted: readonly DottedName[];
}

/**
 * Reads what is known of a leaf of names that is not in memory.
 * @param resumed receives what is noted of its keys
 */
export function readNamesHead(
  text: string,
  stems: StemCounts,
  resumed: { readonly sizes: Map<string, number>; readonly reported: Set<string> },
): NamesHead {
  const [hash, weight, dotted, keys, counts] = headOf(text) as Head;
  for (const [stem, count] of counts) stems.addAll(stem, count);
  for (const [named, size, hasFindings] of keys) {
    const key = sharedText(named);
    if (size !== null) resumed.sizes.set(key, size);
    if (hasFindings) resumed.reported.add(key);
  }
  return { hash, weight, dotted, count: keys.length };
}

/** The keys of a leaf. @param branchOf the branch to a segment by its hash */
export function readNames(
  text: string,
  stems: StemCounts,
  branchOf: (hash: string) => Branch<Segment>,
): NotedKey[] {
  const [[hash, , , keys, known], rest] = partsOf(text) as [Head, readonly Rest[]];
  const branch = branchOf(hash);
  return rest.map(([weight, start, end, own, locals, addresses], index) => ({
    key: sharedText(keys[index]![0]),
    ...{ weight, locals },
    compiled: {
      block: { branch, start, end },
      stems: stems.held(own.map((stem) => known[stem]![0])),
      addresses: AddressList.of(addresses),
    },
  }));
}
