import { sharedText } from "../../../snapshot/held/shared-text.ts";
import type { Branch } from "../../generation/directory.ts";
import type { AddressId } from "../../reverse/address-id.ts";
import { AddressRecord } from "../../reverse/address-record.ts";
import { AddressLeaf, isFresh } from "../../reverse/address-trie.ts";
import type { HeldSources } from "../../reverse/held-sources.ts";
import type { CandidateSource, ReverseCandidate } from "../../reverse/reverse-candidate.ts";
import type { ReverseSegment } from "../../segment/reverse-segment.ts";
import { headOf, partsOf } from "./compiler-notes.ts";

/** What many sources have in common; in `above`, 0 is the name of the service and 1 its namespace. */
type NotedKind = readonly [
  ...[tree: CandidateSource["tree"], view: string | null, rank: CandidateSource["rank"], ttl: number],
  ...[clusters: readonly string[], claimants: readonly string[], above: readonly (string | 0 | 1)[]],
];
/** JSON has no infinite numbers: their texts stand for them. */
type NotedNumber = number | "Infinity" | "-Infinity";
type NotedSource = readonly [namespace: string, name: string, since: NotedNumber, kind: number];
type NotedCandidate = readonly [source: number, label: string | null];
/** An address with its source or, unless it is ordinary, its candidates and those that won. */
type NotedAddress = readonly [
  id: AddressId,
  value: number | readonly [candidates: readonly NotedCandidate[], winners: readonly NotedCandidate[]],
];
type Rest = readonly [
  ...[kinds: readonly NotedKind[], sources: readonly NotedSource[]],
  addresses: readonly NotedAddress[],
];
/** What is known of a leaf that is not in memory. */
type Head = readonly [hash: string, weight: number, count: number, hasRecords: boolean];

/** What a leaf of addresses was compiled to, as text. */
export function writeReverse(
  { weight, count }: Pick<ReverseHead, "weight" | "count">,
  leaf: AddressLeaf,
  { hash }: Branch<ReverseSegment>,
): string {
  const kinds = new Map<string, number>();
  const sources = new Map<CandidateSource, number>();
  const noted: NotedSource[] = [];
  let hasRecords = false;
  const indexOf = (source: CandidateSource) => {
    const known = sources.get(source);
    if (known !== undefined) return known;
    const text = JSON.stringify(kindOf(source));
    const kind = kinds.get(text) ?? kinds.size;
    kinds.set(text, kind);
    sources.set(source, noted.length);
    return noted.push([source.namespace, source.name, notedNumber(source.since), kind]) - 1;
  };
  const candidateOf = ({ source, label }: ReverseCandidate): NotedCandidate => [
    indexOf(source),
    label ?? null,
  ];
  const addresses = Array.from(leaf.inOrder(), ({ table, index }): NotedAddress => {
    const value = table.values[index]!;
    const id = table.idAt(index);
    if (!(value instanceof AddressRecord)) return [id, indexOf(isFresh(value) ? value.source : value)];
    hasRecords = true;
    return [id, [value.candidates.map(candidateOf), value.winners.map(candidateOf)]];
  });
  const head = JSON.stringify([hash, weight, count, hasRecords] satisfies Head);
  return `${head}\n[[${[...kinds.keys()].join(",")}],${JSON.stringify([noted, addresses]).slice(1)}`;
}

/** What is known of a leaf of addresses that is not in memory. */
export interface ReverseHead {
  readonly hash: string;
  readonly weight: number;
  readonly count: number;
  /** Whether it has addresses that are not ordinary. */
  readonly hasRecords: boolean;
}

export function readReverseHead(text: string): ReverseHead {
  const [hash, weight, count, hasRecords] = headOf(text) as Head;
  return { hash, weight, count, hasRecords };
}

/** The leaf of a note. @param branchOf the branch to a segment by its hash */
export function readReverse(
  text: string,
  held: HeldSources,
  branchOf: (hash: string) => Branch<ReverseSegment>,
): AddressLeaf {
  const [[hash], [kinds, noted, addresses]] = partsOf(text) as [Head, Rest];
  const sources = noted.map(([namespace, name, since, kind]) =>
    held.of(sourceOf(sharedText(namespace), sharedText(name), Number(since), kinds[kind]!)),
  );
  const candidateOf = ([source, label]: NotedCandidate): ReverseCandidate => ({
    source: sources[source]!,
    label: label ?? undefined,
  });
  const leaf = new AddressLeaf();
  leaf.branches = [branchOf(hash)];
  for (const [id, value] of addresses) {
    const table = leaf.tableFor(id);
    const held =
      typeof value === "number"
        ? sources[value]!
        : new AddressRecord(id, value[0].map(candidateOf), value[1].map(candidateOf));
    table.insert(table.size, id, held);
  }
  leaf.trim();
  return leaf;
}

function notedNumber(value: number): NotedNumber {
  return Number.isFinite(value) ? value : (String(value) as NotedNumber);
}

function kindOf(source: CandidateSource): NotedKind {
  const { tree, view, rank, ttl, clusters, claimants, namespace, name, above } = source;
  const hasNamespace = above.at(-1) === "svc" && above.at(-2) === namespace;
  const hasName = hasNamespace && above.at(-3) === name;
  const shared = hasNamespace
    ? [...above.slice(0, hasName ? -3 : -2), ...(hasName ? ([0] as const) : []), 1 as const, "svc"]
    : above;
  return [tree, view ?? null, rank, ttl, clusters, claimants, shared];
}

function sourceOf(namespace: string, name: string, since: number, kind: NotedKind): CandidateSource {
  const [tree, view, rank, ttl, clusters, claimants, shared] = kind;
  const above = shared.map((label) => (label === 0 ? name : label === 1 ? namespace : label));
  return {
    ...{ namespace, name, tree, view: view ?? undefined, rank, since, ttl, clusters },
    above,
    claimants,
  };
}
