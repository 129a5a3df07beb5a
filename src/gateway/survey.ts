import { claimBucket, hexOf, Kind } from "../database/places.ts";
import { finish, type Steps } from "../dns/steps.ts";
import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import { compareFindings, compareKeys, distinctFindings, namespaceOf } from "../merge/order.ts";
import type { KeyWorld } from "../names/key-world.ts";
import { reverseLosses } from "../names/reverse-losses.ts";
import type { Objections } from "../names/services.ts";
import { findingsInPods, findingsInZone, objectionsToService } from "../names/services.ts";
import { atMost, type Clock, type Turns } from "./clock.ts";

/** What is looked at in one step: a service of the clusterset, or what one cluster has under a key. */
interface Subject {
  readonly key: string;
  /** Undefined for a service of the clusterset. */
  readonly cluster?: string;
}

/** A cluster of which every key is looked at, or all those in a namespace. */
interface Spread {
  readonly cluster: string;
  readonly namespace?: string;
}

/** Keys of one step that only notes them. */
const KEYS_AT_ONCE = 256;

/** Where a cluster has a key by itself: not in a service of the clusterset. */
const OWN_KINDS: readonly Kind[] = [Kind.service, Kind.pods, Kind.findings];

/**
 * Conflicts, findings and the number of services of one scope. It holds what there is to object to, and the
 * keys of services; it learns which keys changed, and looks at them when somebody needs the lists.
 */
export class Survey implements Objections, ScopeFollower {
  readonly #world: () => KeyWorld | undefined;
  /** By `idOf` of the key of the namespace, which is empty for all. */
  readonly #spreads = new Map<string, Spread>();
  /** What is to be looked at, by `idOf`. */
  readonly #pending = new Map<string, Subject>();
  /** By `idOf`. */
  readonly #kept = new Map<string, Objections & Subject>();
  readonly #services = new Set<string>();
  #contested = new ContestedServices();
  #hasBegun = false;
  #isListed = false;
  /** Whether a key is being compiled, which is not pending any more. */
  #isLooking = false;
  #hasLists = false;
  #conflicts: readonly Conflict[] = [];
  #findings: readonly ClusterFinding[] = [];
  #serviceCount: number | undefined;
  #run: Promise<void> | undefined;

  /** @param world what is answered from now; undefined while nothing is */
  constructor(world: () => KeyWorld | undefined) {
    this.#world = world;
  }

  /** As of the last `refresh`: by service. */
  get conflicts(): readonly Conflict[] {
    return this.#conflicts;
  }

  /**
   * As of the last `refresh`: what clusters reported, and what merging and compiling found; by cluster id,
   * namespace, name, kind, reason and message.
   */
  get findings(): readonly ClusterFinding[] {
    return this.#findings;
  }

  /** As of the last `refresh`, by namespace, then name. */
  get serviceKeys(): string[] {
    return [...this.#services].sort(compareKeys);
  }

  /** How many there are, as of the last `refresh`; undefined before the first. */
  get services(): number | undefined {
    return this.#serviceCount;
  }

  /** Takes over a change of some keys of a cluster, as the log names them. */
  changed(cluster: string, keys: readonly string[]): void {
    if (!this.#hasBegun) return;
    for (const key of keys) {
      if (key === "") this.clusterChanged(cluster);
      else if (key.startsWith("@")) this.#contested.touch(key.slice(1));
      else if (key.endsWith("/")) this.#spread({ cluster, namespace: namespaceOf(key) });
      else {
        if (key.includes("/")) this.#note({ key });
        this.#note({ key, cluster });
      }
    }
  }

  /** Takes over that a cluster came, went, or changed in any of its keys. */
  clusterChanged(cluster: string): void {
    if (!this.#hasBegun) return;
    this.#spread({ cluster });
    // Findings in zones are those of the world.
    this.#isListed = false;
  }

  /** Takes over that any key may have changed. */
  everythingChanged(): void {
    this.#hasBegun = false;
    this.#spreads.clear();
    this.#pending.clear();
    this.#kept.clear();
    this.#services.clear();
    this.#contested = new ContestedServices();
  }

  /** Brings the lists up to date, in turns: all that has changed until this resolves. */
  async refresh(turns: Pick<Turns, "run">): Promise<void> {
    while (!this.#isUpToDate) {
      this.#run ??= turns.run(this.update()).finally(() => {
        this.#run = undefined;
      });
      await this.#run;
    }
  }

  /**
   * The lists as of now; or, where that takes longer, as of the last time; undefined where there was none.
   * @param most milliseconds
   */
  async within(
    most: number,
    turns: Pick<Turns, "run">,
    clock: Pick<Clock, "setTimer">,
  ): Promise<this | undefined> {
    if (!this.#isUpToDate) await atMost(most, clock, this.refresh(turns));
    return this.#hasLists || this.#world() === undefined ? this : undefined;
  }

  /** The same in steps. */
  *update(): Steps {
    const first = this.#world();
    if (first === undefined) return;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#isListed = false;
      for (const { clusterId } of first.entries.clusters()) this.#spread({ cluster: clusterId });
    }
    for (let world = this.#world(); world !== undefined; world = this.#world()) {
      if (this.#spreads.size > 0) yield* this.#noteAll(world, takeFirst(this.#spreads)[1]);
      else if (this.#pending.size > 0) yield* this.#lookAt(world, ...takeFirst(this.#pending));
      else if (this.#contested.isPending) {
        // Before: while it looks, the lists are not those of now.
        this.#isListed = false;
        yield* this.#contested.update(world);
      } else if (this.#isListed) return;
      else yield* this.#list(world);
      yield;
    }
  }

  get #isUpToDate(): boolean {
    if (this.#world() === undefined) return true;
    const isPending = this.#spreads.size + this.#pending.size > 0 || this.#contested.isPending;
    return this.#hasBegun && this.#isListed && !isPending && !this.#isLooking;
  }

  #spread(spread: Spread): void {
    this.#spreads.set(idOf({ cluster: spread.cluster, key: spread.namespace ?? "" }), spread);
  }

  #note(subject: Subject): void {
    this.#pending.set(idOf(subject), subject);
  }

  /** Notes every key in which a cluster has a part, or had one, in steps. */
  *#noteAll({ entries }: KeyWorld, { cluster, namespace }: Spread): Steps {
    let count = 0;
    for (const kind of [Kind.export, Kind.import, ...OWN_KINDS])
      for (const key of entries.keysOf(cluster, kind, kind === Kind.pods ? undefined : namespace)) {
        this.#note(OWN_KINDS.includes(kind) ? { key, cluster } : { key });
        if (++count % KEYS_AT_ONCE === 0) yield;
      }
    // Rows of a cluster that left are gone, but for those with a rank.
    for (const kept of this.#kept.values())
      if (isOf(kept, cluster) && (namespace === undefined || namespaceOf(kept.key) === namespace))
        this.#note(kept);
    for (const key of this.#contested.keysOf(cluster)) this.#note({ key });
  }

  *#lookAt(world: KeyWorld, id: string, { key, cluster }: Subject): Steps {
    this.#isLooking = true;
    try {
      const service = cluster === undefined ? yield* objectionsToService(world, key) : undefined;
      const found = service ?? { conflicts: [], findings: yield* findingsUnder(world, cluster!, key) };
      // Meanwhile everything may have changed, which clears what was found.
      if (!this.#hasBegun) return;
      if (service !== undefined) {
        if (service.isService) this.#services.add(key);
        else this.#services.delete(key);
        const hex = service.addresses.map(hexOf);
        this.#contested.note(key, hex.map(claimBucket), new Set(hex).size < hex.length);
      }
      const { conflicts, findings } = found;
      const isEmpty = conflicts.length + findings.length === 0;
      if (this.#kept.delete(id) || !isEmpty) this.#isListed = false;
      if (!isEmpty)
        this.#kept.set(id, { conflicts, findings, key, ...(cluster !== undefined && { cluster }) });
    } finally {
      this.#isLooking = false;
    }
  }

  *#list({ context }: KeyWorld): Steps {
    this.#isListed = true;
    const services = [...this.#kept.values()].filter(({ conflicts }) => conflicts.length > 0);
    const byKey = yield* sortInSteps(services, (one, other) => compareKeys(one.key, other.key));
    const all = [...this.#kept.values()].flatMap(({ findings }) => findings);
    const findings = [...context.findings, ...all, ...this.#contested.findings()];
    this.#findings = distinctFindings(yield* sortInSteps(findings, compareFindings));
    this.#hasLists = true;
    this.#serviceCount = this.#services.size;
    this.#conflicts = byKey.flatMap(({ conflicts }) => conflicts);
  }
}

/** All of a world, in one turn, which takes as long as there are keys. */
export function surveyOf(world: KeyWorld): Survey {
  const survey = new Survey(() => world);
  finish(survey.update());
  return survey;
}

function* findingsUnder(world: KeyWorld, cluster: string, key: string): Steps<readonly ClusterFinding[]> {
  if (key.includes("/")) return yield* findingsInZone(world, cluster, key);
  return key.startsWith("!") ? world.entries.findingsAt(cluster, key) : findingsInPods(world, cluster, key);
}

/** Whether a cluster has a part in what was found. */
function isOf({ cluster, findings, conflicts }: Objections & Subject, wanted: string): boolean {
  return (
    cluster === wanted ||
    findings.some(({ clusterId }) => clusterId === wanted) ||
    conflicts.some(({ winner, disagree }) => winner === wanted || disagree.includes(wanted))
  );
}

/** Cluster ids have no line feeds. */
function idOf({ key, cluster = "" }: Subject): string {
  return `${cluster}\n${key}`;
}

function takeFirst<Value>(map: Map<string, Value>): [key: string, value: Value] {
  const first = map.entries().next().value!;
  map.delete(first[0]);
  return first;
}

/** Items that are sorted at once: a fraction of a millisecond. */
const ITEMS_AT_ONCE = 512;

/**
 * Sorts as `Array.prototype.sort` does, in steps: to sort 100,000 endpoints takes 40 ms.
 * @returns the array itself, or another one
 */
function* sortInSteps<Item>(items: Item[], compare: (left: Item, right: Item) => number): Steps<Item[]> {
  if (items.length <= ITEMS_AT_ONCE) return items.sort(compare);
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    runs.push(items.slice(at, at + ITEMS_AT_ONCE).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const joined: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [one, other] = [runs[at]!, runs[at + 1]];
      joined.push(other === undefined ? one : yield* joinRuns(one, other, compare));
    }
    runs = joined;
  }
  return runs[0]!;
}

/** Of equal items those of the first run come first. */
function* joinRuns<Item>(
  one: readonly Item[],
  other: readonly Item[],
  compare: (left: Item, right: Item) => number,
): Steps<Item[]> {
  const joined: Item[] = [];
  for (let left = 0, right = 0; joined.length < one.length + other.length; ) {
    const isLeft = right === other.length || (left < one.length && compare(one[left]!, other[right]!) <= 0);
    joined.push(isLeft ? one[left++]! : other[right++]!);
    if (joined.length % ITEMS_AT_ONCE === 0) yield;
  }
  return joined;
}

/**
 * The services that do not have reverse names since another cluster reported the addresses first. Most
 * neighbourhoods of addresses (`claimBucket`) are reported by one cluster, and cost one look each.
 */
class ContestedServices {
  /** Buckets in which something changed. */
  readonly #buckets = new Set<string>();
  /** Services whose losses may have changed. */
  readonly #keys = new Set<string>();
  /** By bucket: the services that contest an address in it. */
  readonly #contesting = new Map<string, ReadonlySet<string>>();
  /** The reverse. */
  readonly #bucketsOf = new Map<string, Set<string>>();
  /** Services in which several endpoints have one address: clusters may contest it within the service. */
  readonly #withRepeatedAddress = new Set<string>();
  readonly #losses = new Map<string, readonly ClusterFinding[]>();

  /** Whether there is something to look at. */
  get isPending(): boolean {
    return this.#buckets.size + this.#keys.size > 0;
  }

  /** Takes over that a cluster reports other addresses of a bucket. */
  touch(bucket: string): void {
    this.#buckets.add(bucket);
  }

  /**
   * Takes over that a service may have other addresses.
   * @param buckets of those that it has now
   * @param repeatsAddress whether two of its endpoints have one address
   */
  note(key: string, buckets: readonly string[], repeatsAddress: boolean): void {
    for (const bucket of buckets) this.#buckets.add(bucket);
    const repeatedAddress = this.#withRepeatedAddress.delete(key);
    if (repeatsAddress) this.#withRepeatedAddress.add(key);
    if (repeatsAddress || repeatedAddress) this.#keys.add(key);
    const known = this.#bucketsOf.get(key);
    if (known === undefined) return;
    for (const bucket of known) this.#buckets.add(bucket);
    this.#keys.add(key);
  }

  /** Services with losses of a cluster. */
  *keysOf(cluster: string): Generator<string> {
    for (const [key, findings] of this.#losses)
      if (findings.some(({ clusterId }) => clusterId === cluster)) yield key;
  }

  findings(): ClusterFinding[] {
    return [...this.#losses.values()].flat();
  }

  /** Looks at what has changed, in steps. */
  *update(world: KeyWorld): Steps {
    for (const bucket of this.#buckets) {
      this.#buckets.delete(bucket);
      this.#contest(bucket, new Set([...world.entries.contestedIn(bucket).values()].flat()));
      yield;
    }
    for (const key of this.#keys) {
      this.#keys.delete(key);
      const isContested = this.#bucketsOf.has(key) || this.#withRepeatedAddress.has(key);
      const losses = isContested ? yield* reverseLosses(world, key) : [];
      if (losses.length === 0) this.#losses.delete(key);
      else this.#losses.set(key, losses);
      yield;
    }
  }

  #contest(bucket: string, keys: ReadonlySet<string>): void {
    for (const key of this.#contesting.get(bucket) ?? []) {
      this.#keys.add(key);
      if (keys.has(key)) continue;
      const own = this.#bucketsOf.get(key);
      own?.delete(bucket);
      if (own?.size === 0) this.#bucketsOf.delete(key);
    }
    for (const key of keys) {
      this.#keys.add(key);
      this.#bucketsOf.set(key, (this.#bucketsOf.get(key) ?? new Set()).add(bucket));
    }
    if (keys.size === 0) this.#contesting.delete(bucket);
    else this.#contesting.set(bucket, keys);
  }
}

/** Learns what changes in a scope. It must not look at anything before the change has ended. */
export interface ScopeFollower {
  /** A cluster changed some keys, as the log names them. */
  changed(cluster: string, keys: readonly string[]): void;
  /** A cluster came or went. */
  clusterChanged(cluster: string): void;
  /** Any key of any cluster may have changed. */
  everythingChanged(): void;
}
