import * as z from "zod";
import type { AdjustedTime } from "../../merge/service/declaration.ts";
import { sharedText } from "../../snapshot/held/shared-text.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import { JsonText } from "../../store/remembered/json-text.ts";
import { whyAdjusted } from "./judge.ts";
import { type Rank, Ranks, type RankTable } from "./ranks.ts";

const PREFIX = "exports@";
/** Entries of one step. */
const ENTRIES_AT_ONCE = 256;

const SeenRecord = z.strictObject({
  generation: z.number(),
  seenAt: z.number(),
  /** By `<namespace>/<name>`: the reported creation time, and the instant that counts. */
  exports: z.record(z.string(), z.tuple([z.string(), z.number()])),
  /** By `<namespace>/<name>`: when the import was first seen. */
  imports: z.record(z.string(), z.number()),
});

/** What the gateway saw of a cluster last. Times are Unix milliseconds. */
export interface Seen {
  /** Of the push that last changed something here. */
  readonly generation: number;
  /** When the cluster was last seen with these exports and imports. */
  readonly seenAt: number;
  readonly exports: RankTable;
  readonly imports: ReadonlyMap<string, number>;
}

/** A cluster as the gateway remembers it, whether it is live or not. */
export class SeenCluster implements Seen {
  generation: number;
  seenAt: number;
  readonly exports: RankTable;
  readonly imports: ReadonlyMap<string, number>;
  /** Exports whose reported creation time does not count. */
  readonly adjusted: ReadonlyMap<string, AdjustedTime>;
  /** Whether this is what the held snapshot has: then only changes of that one need a look. */
  isCurrent = false;
  /** Whether it takes the place of a record that was lost. */
  isLost = false;
  readonly #exports = new Ranks();
  readonly #imports: Map<string, number>;
  readonly #adjusted = new Map<string, AdjustedTime>();

  constructor({ generation, seenAt, exports, imports }: Seen) {
    this.generation = generation;
    this.seenAt = seenAt;
    this.exports = this.#exports;
    this.imports = this.#imports = new Map(imports);
    this.adjusted = this.#adjusted;
    for (const [key, rank] of exports) this.setExport(key, rank);
  }

  /** A cluster that was not seen with anything yet. */
  static unseen(generation: number, seenAt: number): SeenCluster {
    return new SeenCluster({ generation, seenAt, exports: new Ranks(), imports: new Map() });
  }

  /** Sets the rank of an export, or takes it away. */
  setExport(key: string, rank: Rank | undefined): void {
    if (rank === undefined) {
      this.#exports.delete(key);
      this.#adjusted.delete(key);
    } else {
      this.#exports.set(key, rank);
      this.#judge(key, rank);
    }
  }

  /** Sets when an import was first seen, or takes it away. */
  setImport(key: string, since: number | undefined): void {
    if (since === undefined) this.#imports.delete(key);
    else this.#imports.set(key, since);
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
    const exports = new Ranks();
    for (const [key, [reported, counts]] of Object.entries(data.exports))
      exports.set(sharedText(key), { reported, counts });
    const imports = new Map(Object.entries(data.imports).map(([key, since]) => [sharedText(key), since]));
    return new SeenCluster({ ...data, exports, imports });
  }

  /** What `read` reads, as JSON, in steps: a large cluster has 10 MB of it. It must not change meanwhile. */
  *toText(): Generator<void, JsonText> {
    const { generation, seenAt } = this;
    const exports = yield* tableText(this.exports, ({ reported, counts }) => [reported, counts]);
    const imports = yield* tableText(this.imports, (since) => since);
    return new JsonText(
      `{"generation":${generation},"seenAt":${seenAt},"exports":${exports},"imports":${imports}}`,
    );
  }

  /** The latest time in it. */
  get latest(): number {
    let latest = this.seenAt;
    for (const [, { counts }] of this.exports) latest = Math.max(latest, counts);
    for (const since of this.imports.values()) latest = Math.max(latest, since);
    return latest;
  }

  #judge(key: string, { reported, counts }: Rank): void {
    if (Date.parse(reported) === counts) this.#adjusted.delete(key);
    else this.#adjusted.set(key, { counts, because: whyAdjusted(reported, counts) });
  }
}

/** A table as the text of a JSON object, in steps. */
function* tableText<Value>(
  table: Iterable<readonly [key: string, value: Value]>,
  toJson: (value: Value) => unknown,
): Generator<void, string> {
  let text = "";
  let count = 0;
  for (const [key, value] of table) {
    text += `${count === 0 ? "" : ","}${JSON.stringify(key)}:${JSON.stringify(toJson(value))}`;
    if (++count % ENTRIES_AT_ONCE === 0) yield;
  }
  return `{${text}}`;
}

/** Whether two texts are the same creation time, whatever their form. */
export function isSameTime(one: string, other: string): boolean {
  return one === other || Date.parse(one) === Date.parse(other);
}

/** The keys of exports or imports that are served: their namespace exists in the cluster. */
export function* servedKeys(held: HeldState, table: "exports" | "imports"): Generator<string> {
  for (const key of held.keys(table)) if (held.has("namespaces", key.slice(0, key.indexOf("/")))) yield key;
}
