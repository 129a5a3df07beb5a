import * as z from "zod";
import type { SetBack } from "../../merge/declaration.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import { whySetBack } from "./judge.ts";

const PREFIX = "exports@";

const SeenRecord = z.strictObject({
  generation: z.number(),
  heardAt: z.number(),
  /** By `<namespace>/<name>`: the reported creation time, and the instant that counts. */
  exports: z.record(z.string(), z.tuple([z.string(), z.number()])),
  /** By `<namespace>/<name>`: when the import was first seen. */
  imports: z.record(z.string(), z.number()),
});

/** The rank of an export among those of one service. */
export interface Rank {
  /** `metadata.creationTimestamp` of the ServiceExport, as reported. */
  readonly reported: string;
  /** The instant from which it counts, in Unix milliseconds. */
  readonly counts: number;
}

/** What the gateway saw of a cluster last. Times are Unix milliseconds. */
export interface Seen {
  /** Of the push that last changed something here. */
  readonly generation: number;
  /** When the cluster was last seen with these exports and imports. */
  heardAt: number;
  readonly exports: ReadonlyMap<string, Rank>;
  readonly imports: ReadonlyMap<string, number>;
}

/** The parts of a snapshot that decide what a cluster has served. */
export type Served = Pick<ClusterSnapshot, "exports" | "imports" | "namespaces">;

/** A cluster as the gateway remembers it, whether it is live or not. */
export class SeenCluster implements Seen {
  readonly generation: number;
  heardAt: number;
  readonly exports: ReadonlyMap<string, Rank>;
  readonly imports: ReadonlyMap<string, number>;
  /** Exports whose reported creation time does not count. */
  readonly setBack: ReadonlyMap<string, SetBack>;
  /** The parts of the snapshot that it was seen with: the same objects hold nothing new. */
  served: Served | undefined;

  constructor({ generation, heardAt, exports, imports }: Seen, served?: Served) {
    this.generation = generation;
    this.heardAt = heardAt;
    this.exports = exports;
    this.imports = imports;
    this.setBack = listSetBack(exports);
    this.served = served;
  }

  static recordName(clusterId: string): string {
    return `${PREFIX}${clusterId}`;
  }

  /** The cluster id of a record's name; undefined for a record of another kind. */
  static clusterIdOf(recordName: string): string | undefined {
    return recordName.startsWith(PREFIX) ? recordName.slice(PREFIX.length) : undefined;
  }

  /** Undefined for a value that is no such record. */
  static read(value: unknown): SeenCluster | undefined {
    const { data } = SeenRecord.safeParse(value);
    if (data === undefined) return undefined;
    const ranks = Object.entries(data.exports).map(
      ([key, [reported, counts]]) => [key, { reported, counts }] as const,
    );
    const imports = new Map(Object.entries(data.imports));
    return new SeenCluster({ ...data, exports: new Map(ranks), imports });
  }

  toRecord(): z.infer<typeof SeenRecord> {
    const { generation, heardAt, exports, imports } = this;
    const ranks = Array.from(exports, ([key, { reported, counts }]): [string, [string, number]] => [
      key,
      [reported, counts],
    ]);
    return { generation, heardAt, exports: Object.fromEntries(ranks), imports: Object.fromEntries(imports) };
  }

  /** The latest time in it. */
  get latest(): number {
    let latest = this.heardAt;
    for (const { counts } of this.exports.values()) latest = Math.max(latest, counts);
    for (const since of this.imports.values()) latest = Math.max(latest, since);
    return latest;
  }

  /** Whether a snapshot is known to hold nothing new, without a look at its entries. */
  wasServed({ exports, imports, namespaces }: Served): boolean {
    const { served } = this;
    return served?.exports === exports && served.imports === imports && served.namespaces === namespaces;
  }
}

/** Whether two texts are the same creation time, whatever their form. */
export function isSameTime(one: string, other: string): boolean {
  return one === other || Date.parse(one) === Date.parse(other);
}

/** The keys of exports or imports that are served: their namespace exists in the cluster. */
export function* servedKeys(entries: object, namespaces: ClusterSnapshot["namespaces"]): Generator<string> {
  for (const key of Object.keys(entries))
    if (Object.hasOwn(namespaces, key.slice(0, key.indexOf("/")))) yield key;
}

function listSetBack(exports: ReadonlyMap<string, Rank>): ReadonlyMap<string, SetBack> {
  const setBack = new Map<string, SetBack>();
  for (const [key, { reported, counts }] of exports)
    if (Date.parse(reported) !== counts) setBack.set(key, { counts, because: whySetBack(reported, counts) });
  return setBack;
}
