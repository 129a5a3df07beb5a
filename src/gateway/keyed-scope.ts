import { LRUCache } from "lru-cache";
import { bucketOfClaims, Kind } from "../database/places.ts";
import type { Reader } from "../database/reader.ts";
import type { ClusterRow } from "../database/schema.ts";
import type { Steps } from "../dns/steps.ts";
import type { MergeOptions } from "../merge/merge-key.ts";
import { namespaceOf } from "../merge/order.ts";
import type { Visibility } from "../merge/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../merge/visible.ts";
import type { CompiledUnit } from "../names/compile-key.ts";
import { DatabaseEntries, type EntryCounts } from "../names/database-entries.ts";
import { type KeptUnit, KeyWorld, type LargeKey, NO_UNIT, type UnitCache } from "../names/key-world.ts";
import type { ZoneOptions } from "../zone/zone-plan.ts";
import type { Turns } from "./clock.ts";
import { HeldCounts } from "./held-counts.ts";
import { type ScopeFollower, Survey } from "./survey.ts";

/** With what names are compiled. */
export interface NameSettings {
  readonly zones: Partial<Omit<ZoneOptions, "serial">>;
  readonly merging: MergeOptions;
  /** Bytes of compiled keys that a scope keeps. */
  readonly cacheBytes?: number | undefined;
  /**
   * Characters of a key that is compiled in place for a query: larger ones are compiled in turns with others.
   */
  readonly charactersInPlace?: number | undefined;
}

/** What queries in one scope are answered from. */
export class KeyedScope {
  readonly filter: EntryFilter | undefined;
  readonly survey: Survey;
  /** Where services are hidden. */
  readonly #counts: HeldCounts | undefined;
  readonly #followers: ScopeFollower[];
  readonly #reader: Reader;
  readonly #settings: NameSettings;
  readonly #current: () => KeyWorld | undefined;
  readonly #units: KeyedUnits;
  readonly #turns: Turns;
  #world: KeyWorld | undefined;
  #entries: DatabaseEntries | undefined;

  /**
   * @param visibility without a view @param current what is answered from now @param turns in which large
   * keys are compiled
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  constructor(
    reader: Reader,
    visibility: Visibility,
    settings: NameSettings,
    current: () => KeyWorld | undefined,
    turns: Turns,
  ) {
    this.filter = createEntryFilter(visibility);
    if (this.filter?.hidesNoService === false) {
      const entries = () => this.#entries ?? new DatabaseEntries(reader, [], this.filter);
      this.#counts = new HeldCounts(entries, this.filter.hidesImports);
    }
    this.survey = new Survey(current);
    this.#followers = [this.survey, ...(this.#counts === undefined ? [] : [this.#counts])];
    this.#reader = reader;
    this.#settings = settings;
    this.#current = current;
    this.#units = new KeyedUnits(reader, settings.cacheBytes, settings.charactersInPlace, (large) =>
      this.compile(large),
    );
    this.#turns = turns;
  }

  /**
   * Has its world throw a `LargeKey` for each large key but these.
   * @param units undefined: it compiles large keys at once
   */
  lend(units: ReadonlyMap<string, KeptUnit> | undefined): void {
    this.#units.lent = units;
  }

  /** Compiles a large key in turns with other work: with every change that was there when this was called. */
  compile({ id, kind, key }: LargeKey): Promise<KeptUnit> {
    return this.#units.compile(id, this.#turns, () => {
      const world = this.#current();
      const planned = world?.treeOf(kind);
      return planned && world!.compile(planned, key);
    });
  }

  /** Whether a cluster exists in the scope. */
  has(cluster: string): boolean {
    return this.filter?.hasCluster(cluster) !== false;
  }

  /** Counts what `counts` does not know yet, in turns with other work. */
  async count(): Promise<void> {
    if (this.#counts === undefined) return;
    // Clusters that came or went since make other entries.
    this.#current();
    await this.#counts.count(this.#turns.later);
  }

  /** What is answered from. @param live ids of the live clusters @param serial of the SOA record */
  world(live: Iterable<string>, serial: number): KeyWorld {
    if (this.#world === undefined) {
      this.#entries = new DatabaseEntries(this.#reader, live, this.filter);
      const { zones, merging } = this.#settings;
      this.#world = new KeyWorld(this.#entries, { ...zones, serial }, merging, this.#units);
    }
    this.#world.serial = serial;
    return this.#world;
  }

  /** Bytes of compiled keys in memory, about. */
  get cachedBytes(): number {
    return this.#units.bytes;
  }

  /**
   * How many exports and imports of a cluster exist in the scope. Where some are hidden: undefined until they
   * are counted.
   */
  counts({ id, totals }: ClusterRow): EntryCounts | undefined {
    const { exports, imports } = totals;
    return this.#counts === undefined ? { exports, imports } : this.#counts.of(id);
  }

  /** Takes over a change of some keys of a cluster. */
  changed(cluster: string, keys: readonly string[]): void {
    if (!this.has(cluster)) return;
    if (keys.includes("")) this.#world = undefined;
    if (keys.some((key) => key.endsWith("/"))) this.#entries?.namespacesChanged();
    for (const key of keys) {
      const bucket = bucketOfClaims(key);
      if (bucket !== undefined) this.#entries?.claimsChanged(bucket);
    }
    this.#units.changed(cluster, keys);
    for (const follower of this.#followers) follower.changed(cluster, keys);
  }

  /** Takes over that a cluster came, went, or changed in any of its keys. */
  clusterChanged(cluster: string): void {
    if (!this.has(cluster)) return;
    this.#world = undefined;
    this.#units.clusterChanged(cluster);
    for (const follower of this.#followers) follower.clusterChanged(cluster);
  }

  /** Takes over that any key of any cluster may have changed. */
  everythingChanged(): void {
    for (const follower of this.#followers) follower.everythingChanged();
  }

  follow(follower: ScopeFollower): void {
    this.#followers.push(follower);
  }
}

/** Bytes of compiled keys that are kept. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** Keys without names that are kept: random names do not push others out. */
const MOST_NEGATIVE = 16_384;
/** Bytes of a unit beside those of its key, about, and of an address in it. */
const UNIT_BYTES = 640;
const ADDRESS_BYTES = 128;
/** Namespaces of a cluster of which it is known when they came or went. */
const MOST_NAMESPACES = 256;

/** The version of a unit that is not kept any more. */
const DROPPED = -1;
/** This many characters take some 3 ms to compile. */
const CHARACTERS_IN_PLACE = 64 * 1024;
/** Steps of a turn at most: in a Worker the clock does not move while it computes. */
const STEPS_AT_ONCE = 16;

/** A unit that is compiled in turns. */
interface OpenUnit {
  readonly unit: Promise<KeptUnit>;
  /**
   * The version of the cache when compiling began; undefined before that: a change until then is in the unit.
   */
  version?: number;
}

/** The versions of a cluster's newest changes that concern keys which they do not name. */
interface ClusterChanges {
  /** Any key in which it has a part. */
  wide: number;
  /** Its own zone alone. */
  local: number;
  /** Keys of a namespace that came or went. */
  readonly namespaces: Map<string, number>;
}

/**
 * The compiled units of a scope. A change drops the keys that it names; for one that concerns more, each unit
 * is compared with it when it is next needed, so that a cluster that joins or leaves costs nothing for keys
 * in which it has no part.
 */
export class KeyedUnits implements UnitCache {
  /**
   * Counts wide changes, and units that had to make room: after each the first use of a unit makes it the
   * newest one.
   */
  version = 0;
  droppedBytes = 0;
  readonly #reader: Reader;
  readonly charactersInPlace: number;
  readonly compileLarge: UnitCache["compileLarge"];
  readonly #units: LRUCache<string, KeptUnit>;
  readonly #negative = new LRUCache<string, KeptUnit>({
    max: MOST_NEGATIVE,
    dispose: (unit) => {
      unit.version = DROPPED;
    },
  });
  /** Of the newest wide change. */
  #changed = 0;
  /** Of the newest change of the clusters that there are. */
  #clustersVersion = 0;
  readonly #changes = new Map<string, ClusterChanges>();
  /** See `KeyedScope.lend`. */
  lent: ReadonlyMap<string, KeptUnit> | undefined;
  /** Units that are compiled in turns, one after the other: each needs a lot of memory meanwhile. */
  readonly #open = new Map<string, OpenUnit>();
  /** Those that wait, by kind of zone and namespace, each of which has one compiled in turn. */
  readonly #waiting = new Map<string, (() => Promise<unknown>)[]>();
  #isCompiling = false;

  constructor(
    reader: Reader,
    bytes: number = DEFAULT_CACHE_BYTES,
    charactersInPlace: number = CHARACTERS_IN_PLACE,
    compileLarge?: UnitCache["compileLarge"],
  ) {
    this.compileLarge = compileLarge;
    this.#reader = reader;
    this.charactersInPlace = charactersInPlace;
    this.#units = new LRUCache<string, KeptUnit>({
      maxSize: bytes,
      sizeCalculation: sizeOf,
      dispose: (unit, _, reason) => {
        unit.version = DROPPED;
        this.droppedBytes += sizeOf(unit);
        if (reason === "evict") this.version++;
      },
    });
  }

  /** Bytes of the units that are kept, about. */
  get bytes(): number {
    return this.#units.calculatedSize;
  }

  get isLent(): boolean {
    return this.lent !== undefined;
  }

  get(id: string): KeptUnit | undefined {
    const lent = this.lent?.get(id);
    if (lent !== undefined) return lent;
    const unit = this.#units.get(id) ?? this.#negative.get(id);
    if (unit === undefined) return undefined;
    if (unit.version! < this.#changed && !this.#isRight(id, unit)) {
      this.#drop(id);
      return undefined;
    }
    unit.version = this.version;
    return unit;
  }

  set(id: string, unit: KeptUnit): void {
    const units = unit.key === undefined ? this.#negative : this.#units;
    units.set(id, unit);
    // One that is larger than the cache is not kept.
    unit.version = units.has(id) ? this.version : DROPPED;
  }

  /**
   * Compiles a unit in turns: with every change that was there when this was called. The cache keeps it
   * unless the key changes meanwhile.
   * @param begin called when it has its turn
   */
  compile(id: string, turns: Turns, begin: () => Steps<CompiledUnit> | undefined): Promise<KeptUnit> {
    const open = this.#open.get(id);
    if (open !== undefined && (open.version === undefined || open.version >= this.#changed)) return open.unit;
    const run = async (): Promise<KeptUnit> => {
      try {
        const steps = begin();
        const { version } = this;
        one.version = version;
        const compiled = steps === undefined ? NO_UNIT : await turns.run(steps, STEPS_AT_ONCE);
        const unit: KeptUnit = { ...compiled, id, version };
        const isRight = version >= this.#changed || this.#isRight(id, unit);
        if (this.#open.get(id) === one && isRight) this.set(id, unit);
        else unit.version = DROPPED;
        return unit;
      } finally {
        if (this.#open.get(id) === one) this.#open.delete(id);
      }
    };
    const { promise, resolve } = Promise.withResolvers<KeptUnit>();
    const one: OpenUnit = { unit: promise };
    this.#open.set(id, one);
    const start = () => {
      resolve(run());
      return promise.catch(() => {});
    };
    const namespace = namespaceOf(id);
    const line = this.#waiting.get(namespace) ?? [];
    line.push(start);
    this.#waiting.set(namespace, line);
    if (!this.#isCompiling) void this.#compileAll();
    return promise;
  }

  async #compileAll(): Promise<void> {
    this.#isCompiling = true;
    for (const [namespace, line] of this.#waiting) {
      const start = line.shift()!;
      // What is left comes after all others that wait now.
      this.#waiting.delete(namespace);
      if (line.length > 0) this.#waiting.set(namespace, line);
      await start();
    }
    this.#isCompiling = false;
  }

  /** Takes over that a cluster changed some keys. */
  changed(cluster: string, keys: readonly string[]): void {
    for (const key of keys) {
      if (key === "") this.clusterChanged(cluster);
      else if (key.startsWith("#")) this.#note(cluster).local = this.version;
      else if (key.endsWith("/")) this.#namespaceChanged(cluster, key.slice(0, -1));
      // No unit has findings or claims.
      else if (!/^[!@]/.test(key))
        for (const kind of ["clusterset", "federation", `local:${cluster}`]) this.#drop(`${kind} ${key}`);
    }
  }

  /** Takes over that a cluster came, went, or changed in any of its keys. */
  clusterChanged(cluster: string): void {
    this.#note(cluster).wide = this.version;
    this.#clustersVersion = this.version;
  }

  #namespaceChanged(cluster: string, namespace: string): void {
    const changes = this.#note(cluster);
    changes.namespaces.set(namespace, this.version);
    if (changes.namespaces.size <= MOST_NAMESPACES) return;
    changes.namespaces.clear();
    changes.wide = this.version;
  }

  /** A change with a version of its own. */
  #note(cluster: string): ClusterChanges {
    this.#changed = ++this.version;
    const changes = this.#changes.get(cluster) ?? { wide: 0, local: 0, namespaces: new Map() };
    this.#changes.set(cluster, changes);
    return changes;
  }

  #drop(id: string): void {
    this.#units.delete(id);
    this.#negative.delete(id);
    if (this.#open.get(id)?.version !== undefined) this.#open.delete(id);
  }

  #isRight(id: string, { clusters, version = 0 }: KeptUnit): boolean {
    const space = id.indexOf(" ");
    const [kind, key] = [id.slice(0, space), id.slice(space + 1)];
    if (kind === "federation" && this.#clustersVersion > version) return false;
    const namespace = namespaceOf(key);
    for (const [cluster, { wide, local, namespaces }] of this.#changes) {
      if ((namespaces.get(namespace) ?? 0) > version) return false;
      if (kind === `local:${cluster}` && Math.max(wide, local) > version) return false;
      if (kind.startsWith("local:") || wide <= version) continue;
      if (clusters.includes(cluster) || this.#hasPart(cluster, key)) return false;
    }
    return true;
  }

  #hasPart(cluster: string, key: string): boolean {
    return [Kind.export, Kind.import].some((kind) => this.#reader.entry(cluster, kind, key) !== undefined);
  }
}

function sizeOf({ key, reverse }: CompiledUnit): number {
  return UNIT_BYTES + (key?.bytes.length ?? 0) + ADDRESS_BYTES * reverse.length;
}
