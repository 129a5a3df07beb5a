import { LRUCache } from "lru-cache";
import { Kind } from "../database/places.ts";
import type { FoldedName } from "../dns/name.ts";
import { finishWithin, type StepBudget, type Steps } from "../dns/steps.ts";
import { type MergeOptions, type MergeRules, rulesOf } from "../merge/merge-key.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import { type Location, MissingPart, type Zone } from "../zone/world.ts";
import type { PlannedTree } from "../zone/zone-context.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../zone/zone-plan.ts";
import {
  type CompiledUnit,
  compileClustersetKey,
  compileFederationKey,
  compileLocalKey,
  type MergedEntries,
  mergeEntries,
} from "./compile-key.ts";
import type { DatabaseEntries } from "./database-entries.ts";
import type { AddressClaim } from "./entries.ts";
import { candidatesFor } from "./reverse-names.ts";
import { unitKind, ZoneWorld } from "./zone-world.ts";

const NO_MERGED: MergedEntries = {
  audiences: [],
  likeOutside: [],
  clusters: [],
  service: undefined,
  conflicts: [],
  findings: [],
};
/** A key without names. */
export const NO_UNIT: CompiledUnit = {
  key: undefined,
  hasService: false,
  clusters: [],
  conflicts: [],
  findings: [],
  hasAudiences: false,
  reverse: [],
};
/**
 * The most services of a namespace that are searched for one with names. With more of them the namespace
 * counts as having names.
 */
const MOST_SEARCHED = 100;
/**
 * Steps of a key that is compiled in place, at most: a little text may have many names, as that of many ports
 * of many endpoints.
 */
const STEPS_IN_PLACE = 256;
/** Keys with more steps of which this is remembered: others are begun in place by each query. */
const MOST_LARGE = 1024;
/** Bytes of dropped units that may still be in memory, about. */
const MOST_DROPPED_BYTES = 16 * 1024 * 1024;

/**
 * Answers from what clusters reported, in one scope: a key is compiled when a query first needs it. Made anew
 * when a cluster joins or leaves, or its topology or the settings of its own zone change.
 */
export class KeyWorld extends ZoneWorld<KeptUnit> {
  /** What clusters reported, as far as it exists in the scope. */
  readonly entries: DatabaseEntries;
  readonly rules: MergeRules;
  readonly #cache: UnitCache;
  /** Ids of units of which it is known that they take more than `STEPS_IN_PLACE`. */
  readonly #large = new LRUCache<string, boolean>({ max: MOST_LARGE });
  #known: KnownNames | undefined;
  /** The cache's dropped bytes when `#known` was made. */
  #dropped: number;

  /**
   * @param cache of this scope alone; it may outlive the world
   * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an
   * address is none
   */
  constructor(
    entries: DatabaseEntries,
    options: Partial<ZoneOptions>,
    merging: MergeOptions,
    cache: UnitCache,
  ) {
    super(entries.clusters(), { ...DEFAULT_ZONE_OPTIONS, ...options }, entries.lapsedClusters());
    this.entries = entries;
    // A zone that a cluster reports has a tree in its own view alone.
    const zones = this.context.zones.filter(({ tree }) => tree >= 0);
    this.rules = rulesOf(
      merging,
      zones.map(({ name }) => name),
    );
    this.#cache = cache;
    this.#dropped = cache.droppedBytes ?? 0;
  }

  /**
   * What a key has in one kind of zone. @param key `<namespace>/<label>`, as an entry or a host has it
   * @param budget of steps in place; those that are taken are subtracted
   * @throws {LargeKey} for one that has to be compiled in turns with other work
   */
  unitOf(planned: PlannedTree, key: string, budget: StepBudget = { steps: STEPS_IN_PLACE }): KeptUnit {
    const kind = unitKind(planned);
    const kept = this.#cache.get(`${kind} ${key}`);
    if (kept !== undefined) return kept;
    const isLent = this.#cache.isLent === true;
    const unit = this.#compileInPlace(planned, key, isLent ? budget : { steps: Number.POSITIVE_INFINITY });
    if (unit === undefined) throw new LargeKey(kind, key);
    return unit;
  }

  /** Undefined for a large key: one with much text, or with more names and records than the budget allows. */
  #compileInPlace(planned: PlannedTree, key: string, budget: StepBudget): KeptUnit | undefined {
    const id = `${unitKind(planned)} ${key}`;
    const isLimited = budget.steps < Number.POSITIVE_INFINITY;
    if (isLimited && (this.#large.get(id) === true || this.#isLarge(key))) return undefined;
    const { version } = this.#cache;
    const whole = budget.steps === STEPS_IN_PLACE;
    const compiled = finishWithin(this.compile(planned, key), budget);
    if (compiled === undefined) {
      if (whole) this.#large.set(id, true);
      return undefined;
    }
    const unit = { ...compiled, id, version };
    this.#cache.set(id, unit);
    return unit;
  }

  /** The same in steps: with a large key it waits for its turn among those that queries need. */
  *unitInSteps(planned: PlannedTree, key: string): Steps<CompiledUnit> {
    const kind = unitKind(planned);
    const small =
      this.#cache.get(`${kind} ${key}`) ?? this.#compileInPlace(planned, key, { steps: STEPS_IN_PLACE });
    if (small !== undefined) return small;
    const compiling = this.#cache.compileLarge?.(new LargeKey(kind, key));
    if (compiling === undefined) return yield* this.compile(planned, key);
    let unit: CompiledUnit | undefined;
    let failure: unknown;
    yield compiling.then(
      (compiled) => {
        unit = compiled;
      },
      (error: unknown) => {
        failure = error;
      },
    );
    if (unit === undefined) throw failure;
    return unit;
  }

  #isLarge(key: string): boolean {
    return this.entries.charactersOf(key) > this.#charactersInPlace;
  }

  get #charactersInPlace(): number {
    return this.#cache.charactersInPlace ?? Number.POSITIVE_INFINITY;
  }

  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | undefined {
    const cache = this.#cache;
    const end = name.length - zone.wire.length;
    const known = this.#known?.find(name, end, tree, view);
    if (known !== undefined) {
      const { unit, location } = known;
      if (unit.version === cache.version || cache.get(unit.id) === unit) return location;
    }
    const units: KeptUnit[] = [];
    const location = this.search(zone, tree, name, view, units);
    const [unit] = units;
    if (unit === undefined || units.length > 1) return location;
    const { droppedBytes = 0 } = cache;
    // Names that no query needs any more hold on to dropped units.
    if (this.#known === undefined || droppedBytes - this.#dropped > MOST_DROPPED_BYTES) {
      this.#known = new KnownNames();
      this.#dropped = droppedBytes;
    }
    this.#known.set(name, end, { tree, view, unit, location });
    return location;
  }

  protected namesOf(planned: PlannedTree, namespace: string, label: string): KeptUnit {
    return this.unitOf(planned, `${namespace}/${label}`);
  }

  protected reverseOf(planned: PlannedTree, namespace: string, label: string): CompiledUnit {
    return this.unitOf(planned, `${namespace}/${label}`);
  }

  protected hasNamespace(clusterId: string, namespace: string): boolean {
    return this.entries.hasNamespace(clusterId, namespace);
  }

  hasServiceNames(planned: PlannedTree, namespace: string): boolean {
    const { plan } = planned;
    const keys =
      plan.kind === "cluster-local"
        ? this.entries.keysOf(plan.cluster.clusterId, Kind.service, namespace)
        : this.entries.serviceKeys(namespace, true);
    const kind = unitKind(planned);
    // A service may have thousands of names in a federation's zones, and none in the requested region.
    const most = plan.kind === "federation" ? 0 : MOST_SEARCHED;
    let [count, characters] = [0, 0];
    const budget = { steps: STEPS_IN_PLACE };
    for (const reported of keys) {
      const key = `${namespaceOf(reported)}/${nameOf(reported).toLowerCase()}`;
      // Many small services take as long as a large one.
      if (this.#cache.isLent === true && this.#cache.get(`${kind} ${key}`) === undefined) {
        characters += this.entries.charactersOf(key);
        if (characters > this.#charactersInPlace) throw new LargeKey(kind, key);
      }
      const { key: compiled, clusters } = this.unitOf(planned, key, budget);
      // What is hidden does not count.
      if (clusters.length > 0) count++;
      if (count > most || compiled?.hasNameBelow(planned.key, `${namespace}.svc`) === true) return true;
    }
    return false;
  }

  protected claimsOn(address: Uint8Array): readonly AddressClaim[] {
    // Imports of a large service, or of many small ones, are not read by each query. A claim without a record
    // of its own, for all views or for that of its cluster, then has no place in the order of its cluster.
    let characters = 0;
    return this.entries.claimsOn(address, this.rules.pins, ({ cluster, name: key }) => {
      characters += this.entries.charactersOf(key);
      if (characters <= this.#charactersInPlace) return undefined;
      const planned = this.treeOfClaim({ clusterId: cluster, key, basis: "import" });
      if (planned === undefined) return false;
      const { reverse } = this.unitOf(planned, key);
      return candidatesFor(reverse, address).some(
        ({ source }) => source.claimants.includes(cluster) || source.view === cluster,
      );
    });
  }

  /** The same, which is not kept: what no query needs must not take the place of what queries do. */
  *compile(planned: PlannedTree, key: string): Steps<CompiledUnit> {
    const { plan } = planned;
    if (plan.kind === "cluster-local") {
      const cluster = this.clusters.get(plan.cluster.clusterId)!;
      return yield* compileLocalKey(this.context, planned, cluster, key, this.entries);
    }
    const entries = yield* this.entries.read(namespaceOf(key), nameOf(key));
    if (entries === undefined && !this.context.hosts.has(key)) return NO_UNIT;
    yield;
    const merged = entries === undefined ? NO_MERGED : mergeEntries(key, entries, this.rules);
    yield;
    const compile = plan.kind === "federation" ? compileFederationKey : compileClustersetKey;
    return yield* compile(this.context, key, merged);
  }

  /** A tree of a kind of zone. @param kind see `unitKind` */
  treeOf(kind: string): PlannedTree | undefined {
    return this.context.trees.find((planned) => unitKind(planned) === kind);
  }
}

/** Thrown where a query needs a key that takes too long to compile for other queries to wait for it. */
export class LargeKey extends MissingPart {
  /** See `KeptUnit`. */
  readonly id: string;
  /** See `unitKind`. */
  readonly kind: string;
  readonly key: string;

  constructor(kind: string, key: string) {
    const id = `${kind} ${key}`;
    super(`${id} is not compiled`);
    this.id = id;
    this.kind = kind;
    this.key = key;
  }
}

/** A unit in a cache. */
export interface KeptUnit extends CompiledUnit {
  /** `<kind of zone> <namespace>/<label>`; see `unitKind`. */
  readonly id: string;
  /** The version of the cache up to which it is right. */
  version: number | undefined;
}

/** Keeps compiled units by id. */
export interface UnitCache {
  /** Of the last change: a unit with another version is looked up again. Undefined if nothing changes. */
  readonly version?: number;
  /** Bytes of all units that it kept once, and keeps no more, about. */
  readonly droppedBytes?: number;
  /** Characters of a key that is compiled in place; undefined where all are. */
  readonly charactersInPlace?: number | undefined;
  /** Whether what needs a larger key has to wait for it. */
  readonly isLent?: boolean;
  /**
   * Compiles a larger key in turns with other work, one after the other: each needs a lot of memory
   * meanwhile. Undefined where that is done at once.
   */
  readonly compileLarge?: ((large: LargeKey) => Promise<KeptUnit>) | undefined;
  get(id: string): KeptUnit | undefined;
  set(id: string, unit: KeptUnit): void;
}

/** Where a name is. It is right as long as the unit is in which it was searched. */
interface KnownName {
  readonly tree: number;
  readonly view: number;
  readonly unit: KeptUnit;
  /** Undefined if the name does not exist. */
  readonly location: Location | undefined;
}

/**
 * Names are kept in sets of this many, by their hash: a name whose set is full takes the place of another
 * one.
 */
const WAYS = 8;
const SETS = 1024;
/** Bytes for each name. Longer ones are not kept. */
const NAME_BYTES = 64;

/**
 * Where the names are that queries used last: to search one takes 1 to 2 µs, to find it here less than 0.1
 * µs.
 */
export class KnownNames {
  readonly #hashes = new Int32Array(SETS * WAYS);
  readonly #names = new Uint8Array(SETS * WAYS * NAME_BYTES);
  readonly #known = new Array<KnownName | undefined>(SETS * WAYS).fill(undefined);
  #next = 0;

  /** @param end of the name relative to its zone */
  find({ bytes }: FoldedName, end: number, tree: number, view: number): KnownName | undefined {
    const hash = hashOf(bytes, end, tree, view);
    const first = firstOf(hash);
    const hashes = this.#hashes;
    for (let index = first; index < first + WAYS; index++) {
      if (hashes[index] !== hash) continue;
      const known = this.#known[index];
      if (known !== undefined && known.tree === tree && known.view === view && this.#has(index, bytes, end))
        return known;
    }
    return undefined;
  }

  set({ bytes }: FoldedName, end: number, known: KnownName): void {
    if (end > NAME_BYTES - 1) return;
    const hash = hashOf(bytes, end, known.tree, known.view);
    const first = firstOf(hash);
    let index = first;
    while (index < first + WAYS && this.#hashes[index] !== hash) index++;
    if (index === first + WAYS) index = first + (this.#next++ % WAYS);
    this.#hashes[index] = hash;
    this.#known[index] = known;
    const at = index * NAME_BYTES;
    this.#names[at] = end;
    for (let offset = 0; offset < end; offset++) this.#names[at + 1 + offset] = bytes[offset]!;
  }

  #has(index: number, bytes: Uint8Array, end: number): boolean {
    const names = this.#names;
    const at = index * NAME_BYTES;
    if (names[at] !== end) return false;
    for (let offset = 0; offset < end; offset++) if (names[at + 1 + offset] !== bytes[offset]) return false;
    return true;
  }
}

function hashOf(bytes: Uint8Array, end: number, tree: number, view: number): number {
  let hash = tree * 31 + view;
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 16777619);
  return hash;
}

function firstOf(hash: number): number {
  return (Math.imul(hash, 0x9e3779b1) >>> 22) * WAYS;
}
