import type { Branch } from "../../generation/directory.ts";
import type { AddressId } from "../../reverse/address-id.ts";
import { AddressRecord } from "../../reverse/address-record.ts";
import { AddressLeaf, isFresh } from "../../reverse/address-trie.ts";
import type { HeldSources } from "../../reverse/held-sources.ts";
import type { CandidateSource, ReverseCandidate } from "../../reverse/reverse-candidate.ts";
import type { ReverseSegment } from "../../segment/reverse-segment.ts";

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
type Noted = readonly [
  ...[hash: string, kinds: readonly NotedKind[]],
  ...[sources: readonly NotedSource[], addresses: readonly NotedAddress[]],
];

/** What a leaf of addresses was compiled to, as text. */
export function writeReverse(leaf: AddressLeaf, { hash }: Branch<ReverseSegment>): string {
  const kinds = new Map<string, number>();
  const sources = new Map<CandidateSource, number>();
  const noted: NotedSource[] = [];
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
    if (value instanceof AddressRecord)
      return [id, [value.candidates.map(candidateOf), value.winners.map(candidateOf)]];
    return [id, indexOf(isFresh(value) ? value.source : value)];
  });
  const tail = JSON.stringify([noted, addresses]).slice(1);
  return `[${JSON.stringify(hash)},[${[...kinds.keys()].join(",")}],${tail}`;
}

/**
 * Reads the notes of leaves. Equal sources of one service become one object, as when they are compiled. They are looked up without texts of their own: 200,000 sources, of
 * 1,000,000 addresses, would have 40 MB of them.
 */
export class ReverseReader {
  /** By namespace and name: the number of a kind and a source, in turn. */
  readonly #sources = new Map<string, Map<string, (number | CandidateSource)[]>>();
  /** Kinds by their texts. */
  readonly #kinds = new Map<string, number>();
  readonly #held: HeldSources;

  constructor(held: HeldSources) {
    this.#held = held;
  }

  /** The leaf of a note. @param branchOf the branch to a segment by its hash */
  read(text: string, branchOf: (hash: string) => Branch<ReverseSegment>): AddressLeaf {
    const [hash, kinds, noted, addresses] = JSON.parse(text) as Noted;
    const numbers = kinds.map((kind) => this.#numberOf(JSON.stringify(kind)));
    const sources = noted.map((source) => this.#heldOf(source, kinds[source[3]]!, numbers[source[3]]!));
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

  #numberOf(kind: string): number {
    const number = this.#kinds.get(kind) ?? this.#kinds.size;
    this.#kinds.set(kind, number);
    return number;
  }

  #heldOf([namespace, name, noted]: NotedSource, kind: NotedKind, number: number): CandidateSource {
    const since = Number(noted);
    const services = this.#sources.get(namespace) ?? new Map<string, (number | CandidateSource)[]>();
    this.#sources.set(namespace, services);
    const known = services.get(name) ?? [];
    for (let at = 0; at < known.length; at += 2) {
      const source = known[at + 1] as CandidateSource;
      if (known[at] === number && source.since === since) return source;
    }
    // All sources of a service share its name.
    const [, first] = known as [number?, CandidateSource?];
    const names =
      first === undefined ? ([namespace, name] as const) : ([first.namespace, first.name] as const);
    const source = this.#held.of(sourceOf(...names, since, kind));
    // An array that grew has room for 16 more.
    services.set(first === undefined ? name : first.name, known.toSpliced(known.length, 0, number, source));
    return source;
  }
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
