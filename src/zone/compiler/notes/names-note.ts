import type { ClusterFinding } from "../../../merge/clusterset.ts";
import { sharedText } from "../../../snapshot/held/shared-text.ts";
import type { Branch } from "../../generation/directory.ts";
import type { AddressId } from "../../reverse/address-id.ts";
import { AddressList } from "../../reverse/wanted-addresses.ts";
import type { Segment } from "../../segment/segment.ts";
import type { NameKey, NameKeys } from "../name-keys.ts";
import type { Compiled } from "../pages.ts";
import type { Stem, StemCounts } from "../stems.ts";
import { type CompilerNotes, leafOfName } from "./compiler-notes.ts";

/** A key: its text, weight and range, indexes of its stems, its objects in own zones, addresses, `ZoneSource.noteOf` and whether it has findings. */
type NotedKey = readonly [
  ...[key: string, weight: number, start: number, end: number],
  ...[stems: readonly number[], locals: NameKey["locals"], addresses: readonly AddressId[]],
  ...[size: number | null, hasFindings: boolean],
];
type Noted = readonly [hash: string, stems: readonly Stem[], keys: readonly NotedKey[]];

const NO_FINDINGS: readonly ClusterFinding[] = [];

/** What a leaf of names was compiled to, as text. All of its keys are compiled. */
export function writeNames(
  keys: Iterable<NameKey>,
  { hash }: Branch<Segment>,
  noteOf: (key: string) => number | undefined,
): string {
  const stems = new Map<Stem, number>();
  const indexOf = (stem: Stem) => {
    const index = stems.get(stem) ?? stems.size;
    stems.set(stem, index);
    return index;
  };
  const noted = Array.from(keys, ({ key, weight, locals, compiled }): NotedKey => {
    const { block, addresses, findings } = compiled!;
    return [
      ...([key, weight, block.start, block.end, compiled!.stems.map(indexOf), locals] as const),
      ...([[...addresses], noteOf(key) ?? null, findings.length > 0] as const),
    ];
  });
  return JSON.stringify([hash, [...stems.keys()], noted] satisfies Noted);
}

/** Takes a leaf over from its note. @param resumed receives what else is noted of its keys */
export function readNames(
  name: string,
  text: string,
  { names, stems }: { readonly names: NameKeys<Compiled<Segment>>; readonly stems: StemCounts },
  notes: CompilerNotes,
  resumed: { readonly sizes: Map<string, number>; readonly reported: Set<string> },
): void {
  const [hash, known, keys] = JSON.parse(text) as Noted;
  const branch = notes.names(hash);
  const noted = keys.map(([named, weight, start, end, own, locals, addresses, size, hasFindings]) => {
    const key = sharedText(named);
    if (size !== null) resumed.sizes.set(key, size);
    if (hasFindings) resumed.reported.add(key);
    const compiled = {
      block: { branch, start, end },
      stems: stems.add(own.map((index) => known[index]!)),
      findings: NO_FINDINGS,
      addresses: AddressList.of(addresses),
    };
    return { key, weight, locals, compiled };
  });
  names.place(leafOfName(name), noted, { branch });
}
