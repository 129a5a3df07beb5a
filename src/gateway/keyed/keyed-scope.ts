import type { Reader } from "../../database/reader.ts";
import type { MergeOptions } from "../../merge/merge.ts";
import type { Visibility } from "../../merge/visibility/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../../merge/visibility/visible.ts";
import { DatabaseEntries } from "../../names/database-entries.ts";
import { KeyWorld } from "../../names/key-world.ts";
import type { ZoneOptions } from "../../zone/options.ts";
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
  readonly #reader: Reader;
  readonly #settings: NameSettings;
  readonly #units: KeyedUnits;
  #world: KeyWorld | undefined;
  #entries: DatabaseEntries | undefined;

  /**
   * @param visibility without a view
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  constructor(reader: Reader, visibility: Visibility, settings: NameSettings) {
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

  /** Takes over a change of some keys of a cluster. */
  changed(cluster: string, keys: readonly string[]): void {
    if (!this.has(cluster)) return;
    if (keys.includes("")) this.#world = undefined;
    if (keys.some((key) => key.endsWith("/"))) this.#entries?.namespacesChanged();
    this.#units.changed(cluster, keys);
  }

  /** Takes over that a cluster came, went, or changed in any of its keys. */
  clusterChanged(cluster: string): void {
    if (!this.has(cluster)) return;
    this.#world = undefined;
    this.#units.clusterChanged(cluster);
  }
}
