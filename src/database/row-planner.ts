import { ClaimBuckets } from "./claims.ts";
import type { Database } from "./driver.ts";
import { changedSum } from "./driver.ts";
import { claimsKey, Kind, nameOfWaiting } from "./places.ts";
import type { Change, EntryChange } from "./prepare.ts";
import { type Damage, type EntryRow, Reader, rowSum, type StoredRow } from "./reader.ts";
import { type ClaimRow, type PartRow, type RowChange, rowAlone } from "./row-change.ts";
import { type ClusterRow, NO_TOTALS } from "./schema.ts";

/** The state of a cluster after what happens to it. */
const STATE_AFTER = { expiry: "expired", removal: "removed", departure: "left", damage: "damaged" } as const;

/** What happens to a cluster beside pushes. */
export interface Event {
  /**
   * - `expiry`: its lease ended. Its entries and ranks stay.
   * - `removal`: its lease ended so long ago that its entries go. Ranks stay.
   * - `departure`: it left on purpose, known or not. Its entries go, ranks stay. Its generation grows.
   * - `damage`: one of its rows is damaged. Its entries go, and the ranks of sound rows stay.
   */
  readonly kind: keyof typeof STATE_AFTER;
  readonly cluster: string;
}

/** Addresses that the parts of a change gave up so far, with their orders. */
export type GivenUp = Map<string, number>;

/** The cluster was changed since a change was prepared: it has to be prepared again. */
export class StaleChange extends Error {}

/** A row of a cluster is damaged: apply `damage`. */
export class DamagedCluster extends Error {
  readonly damage: Damage;

  constructor(damage: Damage) {
    super(
      `a row of cluster "${damage.cluster}" is damaged${damage.key === undefined ? "" : ` (${damage.key})`}`,
    );
    this.damage = damage;
  }
}

/** Finds out what changes make of rows. Nothing is written. */
export class RowPlanner {
  readonly #database: Database;
  readonly #reader: Reader;
  readonly #claims: ClaimBuckets;

  /** @param reader throws `DamagedCluster` */
  constructor(database: Database, reader: Reader) {
    this.#database = database;
    this.#reader = reader;
    this.#claims = new ClaimBuckets(database, reader, (cluster, key) => {
      throw new DamagedCluster({ cluster, key });
    });
  }

  /**
   * The rows of a change whose other parts were written, in steps. Other clusters may change meanwhile.
   * @throws {StaleChange} from the first step
   */
  *push(
    { kind, cluster, meta, base, entries, totals, decision }: Change,
    given: GivenUp = new Map(),
  ): Generator<void, RowChange> {
    const before = this.#checkBase(cluster, base);
    const { sum, claimRows, ...rows } = yield* this.#rowsOf(kind, cluster, before, entries, given);
    const isUnranked = decision.seenAt === undefined && (entries.length > 0 || before?.isUnranked === true);
    const row: ClusterRow = {
      id: cluster,
      state: "live",
      meta,
      totals,
      sum,
      claims: claimRows,
      seenAt: decision.seenAt ?? before?.seenAt ?? 0,
      latest: decision.latest,
      isUnranked: isUnranked || undefined,
      hasLostRanks: (kind === "changes" && before?.hasLostRanks) || undefined,
    };
    const isBack = before?.state !== "live";
    return {
      ...rows,
      kind: isBack ? "return" : kind,
      cluster: row,
      isWide: isBack || isWide(entries),
      founding: JSON.stringify(decision.founding),
    };
  }

  /** The rows of a part of a change which is not the last one, as `push`. */
  *part(
    { kind, cluster, totals }: Change,
    base: number,
    entries: readonly EntryChange[],
    given: GivenUp,
  ): Generator<void, RowChange> {
    const before = this.#checkBase(cluster, base);
    const { sum, claimRows, ...rows } = yield* this.#rowsOf(kind, cluster, before, entries, given);
    const known = before ?? { id: cluster, state: "arriving", totals, seenAt: 0, latest: 0 };
    const row: ClusterRow = { ...known, sum, claims: claimRows, isPartial: true };
    return { ...rows, kind, cluster: row, isWide: isWide(entries) };
  }

  event({ kind, cluster }: Event): RowChange {
    const known = new Reader(this.#database, () => {}).cluster(cluster);
    const before = known ?? { id: cluster, totals: NO_TOTALS, sum: 0, seenAt: 0, latest: 0 };
    const state = STATE_AFTER[kind];
    if (kind === "expiry") return { ...rowAlone(kind, { ...before, state }), isWide: true };
    const { ranks, keys } = this.#ranksOf(cluster);
    const meta = known?.meta;
    const row: ClusterRow = {
      ...before,
      // What was sent before it left builds on an older generation.
      meta: kind === "departure" && meta ? { ...meta, generation: meta.generation + 1 } : meta,
      state,
      totals: NO_TOTALS,
      sum: ranks.sum,
      claims: undefined,
      isPartial: undefined,
      hasLostRanks: kind === "damage" || undefined,
    };
    return { ...rowAlone(kind, row), isCleared: true, entries: ranks.entries, keys, isWide: true };
  }

  /** What has all rows of a cluster made from nothing. @throws {DamagedCluster} */
  whole(cluster: ClusterRow): RowChange {
    const { id } = cluster;
    const parts = new ChangedParts(0);
    for (const kind of Object.values(Kind))
      for (const after of this.#reader.all(id, kind)) parts.add({ before: undefined, after });
    return {
      kind: "whole",
      cluster,
      isCleared: true,
      entries: parts.entries,
      gone: [],
      claims: this.#claims.all(id),
      keys: parts.entries.map(({ key }) => key),
      isWide: true,
      founding: this.#reader.meta("founding"),
    };
  }

  #checkBase(cluster: string, base: number): ClusterRow | undefined {
    const before = this.#reader.cluster(cluster);
    if ((before?.sum ?? 0) !== base) throw new StaleChange("another change was applied");
    return before;
  }

  *#rowsOf(
    kind: Change["kind"],
    cluster: string,
    before: ClusterRow | undefined,
    entries: readonly EntryChange[],
    given: GivenUp,
  ) {
    const parts = new ChangedParts(before?.sum ?? 0);
    for (const entry of entries) {
      parts.add(entry);
      yield;
    }
    const position = this.#reader.position() + 1;
    const order = before?.hasLostRanks === true && kind === "whole" ? -position : position;
    const { rows: claims, more } = yield* this.#claims.changed(cluster, entries, order, given);
    return {
      sum: parts.sum,
      ranked: parts.ranked,
      claimRows: (before?.claims ?? 0) + more || undefined,
      isCleared: false,
      entries: parts.entries,
      gone: parts.gone,
      claims,
      keys: keysOf(entries, claims),
    };
  }

  /** The ranks of a cluster's sound rows, without their entries, and the services in which it has a part. */
  #ranksOf(cluster: string): { readonly ranks: ChangedParts; readonly keys: readonly string[] } {
    const reader = new Reader(this.#database, () => {});
    const ranks = new ChangedParts(0);
    const keys: string[] = [];
    for (const kind of [Kind.export, Kind.import])
      for (const row of reader.all(cluster, kind)) {
        keys.push(row.key);
        if (row.counts !== null) ranks.add({ before: undefined, after: { ...row, texts: [""] } });
      }
    return { ranks, keys };
  }
}

/** The parts of entries that change, and the sum of the cluster's rows after that. */
class ChangedParts {
  readonly entries: PartRow[] = [];
  readonly gone: Pick<PartRow, "kind" | "name" | "part">[] = [];
  ranked = 0;
  sum: number;

  constructor(sum: number) {
    this.sum = sum;
  }

  add({ before, after }: EntryChange): void {
    const { kind, name } = (before ?? after)!;
    if ((kind === Kind.export || kind === Kind.import) && !haveSameRank(before, after)) this.ranked++;
    const [old, now] = [before?.texts.length ?? 0, after?.texts.length ?? 0];
    for (let part = 0; part < Math.max(old, now); part++) {
      const was = part < old ? partOf(before!, part) : undefined;
      const is = part < now ? partOf(after!, part) : undefined;
      if (was !== undefined && is !== undefined && isSame(was, is)) continue;
      const own = is === undefined ? 0 : rowSum(is);
      this.sum = changedSum(this.sum, was === undefined ? 0 : rowSum(was), own);
      if (is === undefined) this.gone.push({ kind, name, part });
      else this.entries.push({ ...is, sum: own });
    }
  }
}

/** An entry that is gone has none. */
function haveSameRank(one: EntryRow | undefined, other: EntryRow | undefined): boolean {
  const isThere = one !== undefined && one.texts[0] !== "";
  const isOther = other !== undefined && other.texts[0] !== "";
  if (!isThere || !isOther) return isThere === isOther;
  return one.reported === other.reported && one.counts === other.counts;
}

function partOf(row: EntryRow, part: number): Omit<StoredRow, "sum"> {
  const { key, kind, cluster, name, texts } = row;
  const [reported, counts] = part === 0 ? [row.reported, row.counts] : [null, null];
  return { key, kind, cluster, name, part, text: texts[part]!, reported, counts };
}

function isSame(one: Omit<StoredRow, "sum">, other: Omit<StoredRow, "sum">): boolean {
  return (
    one.text === other.text &&
    one.key === other.key &&
    one.reported === other.reported &&
    one.counts === other.counts
  );
}

/** The keys of entries and of buckets of claims that change. */
function keysOf(entries: readonly EntryChange[], claims: readonly ClaimRow[]): readonly string[] {
  const keys = new Set<string>();
  for (const { before, after } of entries)
    for (const one of [before, after]) if (one !== undefined) keys.add(one.key);
  // No answer has what waits.
  for (const { bucket } of claims) if (nameOfWaiting(bucket) === undefined) keys.add(claimsKey(bucket));
  return [...keys];
}

function isWide(entries: readonly EntryChange[]): boolean {
  return entries.some(({ before, after }) => (before ?? after)!.kind <= Kind.namespace);
}
