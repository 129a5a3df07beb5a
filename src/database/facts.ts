import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import type { Totals } from "./cluster-row.ts";
import { Kind, localKey, namespaceKey } from "./places.ts";
import { entryValue } from "./reader.ts";

/** What has to be known of an entry to place, rank and count it. */
export interface Facts {
  /** In which queries are answered with it. */
  readonly key: string;
  /** See `EntryRow`. */
  readonly reported: number | null;
  /** Entries that the row has. */
  readonly entries: number;
  readonly endpoints: number;
  readonly ports: number;
  readonly metadataCharacters: number;
}

type Groups = LocalService["endpoints"];

/** Characters of an endpoint as JSON, at least. */
const SHORTEST_ENDPOINT = '"a":{"address":""},'.length;

const COUNTER: Readonly<Record<Kind, keyof Totals | undefined>> = {
  [Kind.single]: undefined,
  [Kind.namespace]: "namespaces",
  [Kind.export]: "exports",
  [Kind.import]: "imports",
  [Kind.service]: "services",
  [Kind.pods]: "pods",
  [Kind.findings]: "findings",
};

/** The facts of an entry. @param value valid */
export function factsOf(kind: Kind, name: string, value: unknown): Facts {
  const nothing = { reported: null, entries: 1, endpoints: 0, ports: 0, metadataCharacters: 0 };
  switch (kind) {
    case Kind.export: {
      const { exportedAt, ports, nodes, endpoints, ...metadata } = value as ExportedService;
      return {
        key: name,
        reported: Date.parse(exportedAt),
        entries: 1,
        ...countEndpoints(ports.length + (nodes?.ports.length ?? 0), [endpoints]),
        metadataCharacters:
          charactersOf(metadata.exportedLabels) + charactersOf(metadata.exportedAnnotations),
      };
    }
    case Kind.import: {
      const { managed, ports, endpoints } = value as ImportedService;
      const counted = countEndpoints(ports.length, Object.values(endpoints));
      // One that the cluster's own worker made has no place in any order.
      return { ...nothing, ...counted, key: name, reported: managed === true ? null : 0 };
    }
    case Kind.service: {
      const service = value as LocalService;
      const counted = countEndpoints(service.ports.length, [service.endpoints]);
      return { ...nothing, ...counted, key: localKey(name, service) };
    }
    case Kind.namespace:
      return { ...nothing, key: namespaceKey(name) };
    case Kind.single:
      return { ...nothing, key: "" };
    default:
      return { ...nothing, key: name, entries: Object.keys(value as object).length };
  }
}

/** Endpoints of an entry in several parts; 0 if it is too short to have more than `most`. */
export function endpointsAbove(most: number, kind: Kind, name: string, texts: readonly string[]): number {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return characters / SHORTEST_ENDPOINT > most ? factsOf(kind, name, entryValue({ texts })).endpoints : 0;
}

function countEndpoints(ports: number, sources: readonly Groups[]): Pick<Facts, "endpoints" | "ports"> {
  let endpoints = 0;
  for (const groups of sources)
    for (const group of Object.values(groups)) {
      const members = Object.keys(group.members).length;
      endpoints += members;
      ports += members * group.ports.length;
    }
  return { endpoints, ports };
}

function charactersOf(texts: Readonly<Record<string, string>> = {}): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/**
 * The parts of an entry before and after a change that tell the difference of its facts: the first one, and those that differ. All, where that is not so.
 * @returns the values of both
 */
export function comparedValues(
  kind: Kind,
  before: readonly string[],
  after: readonly string[],
): readonly [before: unknown, after: unknown] {
  const differs = (_: string, part: number) => part === 0 || before[part] !== after[part];
  const [old, now] = [before, after].map((texts) => entryValue({ texts: texts.filter(differs) })) as [
    unknown,
    unknown,
  ];
  if (before.every(differs) || hasSamePorts(kind, old, now)) return [old, now];
  return [entryValue({ texts: before }), entryValue({ texts: after })];
}

/** Whether each group of endpoints has its ports in both values, as many as in the other one: ports count once for each endpoint. */
function hasSamePorts(kind: Kind, one: unknown, other: unknown): boolean {
  const [known, groups] = [one, other].map((value) => new Map(groupsOf(kind, value)));
  return [...known!, ...groups!].every(
    ([path]) =>
      (known!.get(path) ?? groups!.get(path))?.ports?.length ===
      ((groups!.get(path) ?? known!.get(path))?.ports?.length ?? Number.NaN),
  );
}

function* groupsOf(
  kind: Kind,
  value: unknown,
): Generator<[path: string, group: { readonly ports?: readonly unknown[] }]> {
  const { endpoints } = value as ExportedService | ImportedService;
  const sources =
    kind === Kind.import
      ? Object.entries((value as ImportedService).endpoints)
      : [["", endpoints as Groups] as const];
  for (const [source, groups] of sources)
    for (const [name, group] of Object.entries(groups)) yield [JSON.stringify([source, name]), group];
}

/** Adds an entry to totals, which are changed, or takes it away. */
export function countEntry(
  totals: { -readonly [Name in keyof Totals]: number },
  { kind, name, texts }: { readonly kind: Kind; readonly name: string; readonly texts: readonly string[] },
  { entries, endpoints, ports, metadataCharacters }: Facts,
  sign: 1 | -1,
): void {
  const counter = COUNTER[kind];
  if (counter === undefined) return;
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  // The text of a bucket has the keys of its entries.
  const isBucket = kind === Kind.pods || kind === Kind.findings;
  totals.characters += sign * (isBucket ? characters - 1 : JSON.stringify(name).length + characters + 2);
  totals[counter] += sign * entries;
  totals.endpoints += sign * endpoints;
  totals.ports += sign * ports;
  totals.metadataCharacters += sign * metadataCharacters;
}
