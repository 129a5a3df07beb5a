import type { ClusterRow } from "../database/cluster-row.ts";
import { Kind } from "../database/places.ts";
import { entryValue, type Reader } from "../database/reader.ts";
import type { MergeOptions } from "../merge/merge-key.ts";
import { namespaceOf } from "../merge/service-key.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../merge/visibility/visible.ts";
import { DatabaseEntries } from "../names/database-entries.ts";
import { KeyWorld } from "../names/key-world.ts";
import type { ImportedService } from "../snapshot/schema.ts";
import type { ZoneOptions } from "../zone/options.ts";
import type { ScopeFollower } from "./scope-follower.ts";
import { Survey } from "./survey.ts";
import { KeyedUnits } from "./unit-cache.ts";

/** With what names are compiled. */
export interface NameSettings {
  readonly zones: Partial<Omit<ZoneOptions, "serial">>;
  readonly merging: MergeOptions;
  /** Bytes of compiled keys that a scope keeps. */
  readonly cacheBytes?: number | undefined;
}

/** What queries in one scope are answered from. */
export class KeyedScope {
  readonly filter: EntryFilter | undefined;
  readonly survey: Survey;
  readonly #followers: ScopeFollower[];
  readonly #reader: Reader;
  readonly #settings: NameSettings;
  readonly #units: KeyedUnits;
  /** By cluster: see `counts`. */
  readonly #counts = new Map<string, { readonly exports: number; readonly imports: number }>();
  #world: KeyWorld | undefined;
  #entries: DatabaseEntries | undefined;

  /**
   * @param visibility without a view @param current what is answered from now
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  constructor(
    reader: Reader,
    visibility: Visibility,
    settings: NameSettings,
    current: () => KeyWorld | undefined,
  ) {
    this.survey = new Survey(current);
    this.#followers = [this.survey];
    this.filter = createEntryFilter(visibility);
    this.#reader = reader;
    this.#settings = settings;
    this.#units = new KeyedUnits(reader, settings.cacheBytes);
  }

  /** Whether a cluster exists in the scope. */
  has(cluster: string): boolean {
    return this.filter?.hasCluster(cluster) !== false;
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

  /** How many exports and imports of a cluster exist in the scope. */
  counts({ id, totals }: ClusterRow): { readonly exports: number; readonly imports: number } {
    const { filter } = this;
    if (filter === undefined || filter.hidesNoService)
      return { exports: totals.exports, imports: totals.imports };
    const known = this.#counts.get(id);
    if (known !== undefined) return known;
    const counts = { exports: 0, imports: 0 };
    for (const { name, texts } of this.#reader.all(id, Kind.export))
      if (texts[0] !== "" && filter.hasNamespace(namespaceOf(name))) counts.exports++;
    for (const row of this.#reader.all(id, Kind.import)) {
      if (row.texts[0] === "") continue;
      const isExported = () =>
        this.#reader.exportersOf(row.name).includes(id) || this.#entries?.isExported(row.name) === true;
      if (filter.imported(row.name, entryValue(row) as ImportedService, isExported) !== undefined)
        counts.imports++;
    }
    this.#counts.set(id, counts);
    return counts;
  }

  /** Takes over a change of some keys of a cluster. */
  changed(cluster: string, keys: readonly string[]): void {
    if (!this.has(cluster)) return;
    this.#counts.clear();
    if (keys.includes("")) this.#world = undefined;
    if (keys.some((key) => key.endsWith("/"))) this.#entries?.namespacesChanged();
    this.#units.changed(cluster, keys);
    for (const follower of this.#followers) follower.changed(cluster, keys);
  }

  /** Takes over that a cluster came, went, or changed in any of its keys. */
  clusterChanged(cluster: string): void {
    if (!this.has(cluster)) return;
    this.#counts.clear();
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
