import { equalJson } from "../snapshot/json-value.ts";
import { Kind } from "./places.ts";
import {
  type Appearance,
  appearance,
  type FoundingDay,
  foundingAt,
  judge,
  recovery,
  type Sight,
} from "./ranks.ts";
import {
  comparedValues,
  countEntry,
  type EntryRow,
  endpointsAbove,
  entryValue,
  factsOf,
  type Reader,
} from "./reader.ts";
import { type ClusterMeta, type ClusterRow, NO_TOTALS, type Totals } from "./schema.ts";
import type { Staged, StagedEntry } from "./stage.ts";

/** What becomes of an entry: `before` undefined for a new one, `after` for one that goes. */
export interface EntryChange {
  readonly before: EntryRow | undefined;
  readonly after: EntryRow | undefined;
}

/**
 * What was decided by a clock, for every gateway that applies the same change. Times are Unix milliseconds.
 */
export interface Decision {
  /** When the cluster was seen; undefined while no clock was set. */
  readonly seenAt: number | undefined;
  /** The latest time that is remembered after it. */
  readonly latest: number;
  readonly founding: FoundingDay;
}

/** A change of a cluster that can be applied as long as the cluster's rows are as they were. */
export interface Change {
  readonly kind: Staged["kind"];
  readonly cluster: string;
  readonly meta: ClusterMeta;
  /** `ClusterRow.sum` when this was prepared; 0 for a new cluster. */
  readonly base: number;
  readonly entries: readonly EntryChange[];
  /** What the cluster has afterwards, for bounds. */
  readonly totals: Totals;
  /** An entry that has more endpoints than one may have. */
  readonly tooLarge?: LargeEntry | undefined;
  readonly decision: Decision;
}

/** An entry with many endpoints. */
export interface LargeEntry {
  readonly kind: Kind;
  readonly name: string;
  readonly endpoints: number;
}

/** A patch or a renewal of a cluster of which there is no state. */
export class NoState extends Error {}

const KINDS: readonly Kind[] = Object.values(Kind);

/** Entries that are compared in one step, and about so many characters of them. */
const ENTRIES_AT_ONCE = 16;
const CHARACTERS_AT_ONCE = 65_536;

/**
 * What staged entries change, in steps. Nothing is written. A renewal is changes without entries. Other
 * clusters may change meanwhile.
 * @param sight how the cluster is seen
 * @param latest the latest time that is remembered
 * @param mostEndpoints that an entry may have
 * @throws {NoState} for changes of a cluster that is neither live nor expired
 */
export function* prepare(
  reader: Reader,
  staged: Staged,
  meta: ClusterMeta,
  sight: Sight,
  latest: number,
  mostEndpoints: number,
): Generator<void, Change> {
  const known = reader.cluster(staged.cluster);
  const hasState = (known?.state === "live" || known?.state === "expired") && known.isPartial !== true;
  if (staged.kind === "changes" && !hasState) throw new NoState(`no state of "${staged.cluster}" is known`);
  const draft = new ChangeDraft(reader, staged, { ...(hasState ? known.totals : NO_TOTALS) }, mostEndpoints);
  // What a push left that is not there whole was never counted.
  if (staged.kind === "whole") yield* draft.replace(staged, known?.isPartial === true);
  else yield* draft.change(staged);
  const decision = yield* draft.rank(sight, known, latest);
  const { entries, totals, tooLarge } = draft;
  const { kind, cluster } = staged;
  return { kind, cluster, meta, base: known?.sum ?? 0, entries, totals, tooLarge, decision };
}

/** Compares staged entries with those of the database. */
class ChangeDraft {
  readonly totals: { -readonly [Name in keyof Totals]: number };
  tooLarge: LargeEntry | undefined;
  readonly #mostEndpoints: number;
  readonly #reader: Reader;
  readonly #cluster: string;
  readonly #isWhole: boolean;
  readonly #changes = new Map<string, EntryChange>();
  /** Characters that a step may still compare. */
  #room = CHARACTERS_AT_ONCE;
  /** Whether the cluster has a namespace afterwards. */
  readonly #namespaces = new Map<string, boolean>();

  constructor(reader: Reader, { cluster, kind }: Staged, totals: Totals, mostEndpoints: number) {
    this.#mostEndpoints = mostEndpoints;
    this.#reader = reader;
    this.#cluster = cluster;
    this.#isWhole = kind === "whole";
    this.totals = totals;
  }

  get entries(): EntryChange[] {
    return [...this.#changes.values()];
  }

  /** The cluster has the staged entries alone. */
  *replace({ entries }: Staged, isUncounted: boolean): Generator<void> {
    for (const kind of KINDS) {
      const staged = entries.get(kind);
      const found = new Set<string>();
      for (const row of this.#reader.all(this.#cluster, kind)) {
        found.add(row.name);
        if (isUncounted && row.texts[0] !== "")
          countEntry(this.totals, row, factsOf(kind, row.name, entryValue(row)), 1);
        const entry = staged?.get(row.name);
        this.#compare(kind, row.name, row, entry);
        if (this.#endsStep(row, entry)) yield;
      }
      for (const [name, entry] of staged ?? []) {
        if (found.has(name)) continue;
        this.#compare(kind, name, undefined, entry);
        if (this.#endsStep(entry)) yield;
      }
    }
  }

  /** The cluster has the staged entries instead of others of their names. */
  *change({ entries }: Staged): Generator<void> {
    for (const [kind, staged] of entries)
      for (const [name, entry] of staged) {
        const before = this.#reader.entry(this.#cluster, kind, name);
        this.#compare(kind, name, before, entry);
        if (this.#endsStep(before, entry)) yield;
      }
  }

  /** Whether a step ends after these were compared. */
  #endsStep(...compared: readonly (Pick<StagedEntry, "texts"> | undefined)[]): boolean {
    this.#room -= CHARACTERS_AT_ONCE / ENTRIES_AT_ONCE;
    for (const one of compared) for (const { length } of one?.texts ?? []) this.#room -= length;
    if (this.#room > 0) return false;
    this.#room = CHARACTERS_AT_ONCE;
    return true;
  }

  /**
   * Decides from when on counts what appears now. Every export and import that is served has a rank
   * afterwards, and no other.
   */
  *rank(sight: Sight, known: ClusterRow | undefined, latest: number): Generator<void, Decision> {
    const kept = this.#reader.founding();
    const founding = foundingAt(kept, kept !== undefined || known !== undefined, sight.now, latest);
    const now = appearance(sight, latest, founding, known?.seenAt);
    const isRecovery = this.#isWhole && known?.hasLostRanks === true;
    const appears = now && (isRecovery ? recovery(now, known.meta?.pushedAt ?? now.instant) : now);
    let most = latest;
    let count = 0;
    for (const row of this.#toRank(known?.isUnranked === true)) {
      if (++count % ENTRIES_AT_ONCE === 0) yield;
      if (row === undefined) continue;
      const counts = this.#isServed(row) ? (row.counts ?? (appears && rankOf(row, appears)) ?? null) : null;
      if (counts === row.counts) continue;
      const id = idOf(row.kind, row.name);
      const { before } = this.#changes.get(id) ?? { before: row };
      this.#changes.set(id, { before, after: { ...row, counts } });
      if (now !== undefined && counts !== null) most = Math.max(most, now.instant, counts);
    }
    if (now === undefined) return { seenAt: undefined, latest, founding };
    return { seenAt: sight.now, latest: Math.max(most, sight.now), founding };
  }

  /**
   * Exports and imports that changed, or that may be served now and were not before, or the other way round;
   * undefined for each other thing that is looked at.
   */
  *#toRank(all: boolean): Generator<EntryRow | undefined> {
    const namespaces: string[] = [];
    for (const { before, after } of this.#changes.values()) {
      const { kind, name } = (before ?? after)!;
      if (kind === Kind.namespace) namespaces.push(name);
      yield kind === Kind.export || kind === Kind.import ? after : undefined;
    }
    for (const kind of [Kind.export, Kind.import])
      for (const namespace of all ? [undefined] : namespaces) {
        yield undefined;
        for (const row of this.#reader.all(this.#cluster, kind, namespace))
          yield this.#changes.has(idOf(kind, row.name)) ? undefined : row;
      }
  }

  #isServed({ reported, name, texts }: EntryRow): boolean {
    if (reported === null || texts[0] === "") return false;
    const namespace = name.slice(0, name.indexOf("/"));
    let has = this.#namespaces.get(namespace);
    if (has === undefined) {
      const change = this.#changes.get(idOf(Kind.namespace, namespace));
      has =
        (change ?? { after: this.#reader.entry(this.#cluster, Kind.namespace, namespace) }).after !==
        undefined;
      this.#namespaces.set(namespace, has);
    }
    return has;
  }

  #compare(kind: Kind, name: string, before: EntryRow | undefined, staged: StagedEntry | undefined): void {
    const texts = staged?.texts ?? [];
    const isThere = before !== undefined && before.texts[0] !== "";
    if (before === undefined && texts.length === 0) return;
    if (isThere && isSame(before.texts, texts)) return;
    const hasTexts = texts.length > 0;
    const [old, value] =
      isThere && hasTexts && !this.#isWhole
        ? comparedValues(kind, before.texts, texts)
        : [
            isThere ? entryValue(before) : undefined,
            hasTexts && (isThere || staged?.facts === undefined) ? entryValue({ texts }) : undefined,
          ];
    if (isThere) {
      // A patch that changes nothing leaves the text as it is.
      if (this.#isWhole && hasTexts && equalJson(old, value)) return;
      countEntry(this.totals, before, factsOf(kind, name, old), -1);
    }
    let after: EntryRow | undefined;
    if (hasTexts) {
      const facts = (isThere ? undefined : staged?.facts) ?? factsOf(kind, name, value);
      countEntry(this.totals, { kind, name, texts }, facts, 1);
      // Of an entry in several parts a patch compares only those that differ.
      const isInParts = isThere && !this.#isWhole && texts.length > 1;
      const endpoints = isInParts ? endpointsAbove(this.#mostEndpoints, kind, name, texts) : facts.endpoints;
      if (endpoints > this.#mostEndpoints) this.tooLarge ??= { kind, name, endpoints };
      const { key, reported } = facts;
      const counts = before?.reported === reported ? before.counts : null;
      after = { key, kind, cluster: this.#cluster, name, texts, reported, counts };
    }
    this.#changes.set(idOf(kind, name), { before, after });
  }
}

function rankOf({ kind, reported }: EntryRow, appears: Appearance): number {
  return kind === Kind.export ? judge(reported!, appears) : appears.importsSince;
}

function idOf(kind: Kind, name: string): string {
  return `${kind} ${name}`;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
