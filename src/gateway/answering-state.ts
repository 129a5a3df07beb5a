import { sumOf } from "../database/driver.ts";
import type { Reader } from "../database/reader.ts";
import type { ClusterMeta, ClusterRow } from "../database/schema.ts";
import type { Applied } from "../database/writer.ts";
import { compareFindings, namespaceOf } from "../merge/order.ts";
import { checkVisibility, type Visibility, visibilityKey, withoutView } from "../merge/visibility.ts";
import { type KeptUnit, LargeKey } from "../names/key-world.ts";
import { type Leases, LeaseTables } from "../resolve/record-writer.ts";
import { OTHER_INSTANCE } from "../snapshot/report.ts";
import { atMost, type Clock, Turns, unixTime } from "./clock.ts";
import {
  type ClusterStatus,
  neverSeen,
  type QueryStages,
  type ScopedGateway,
  type ServedWorld,
  type ServingStatus,
  type Surveyed,
} from "./gateway-types.ts";
import { KeyedScope, type NameSettings } from "./keyed-scope.ts";
import { type Contention, contentionFinding, resumed } from "./leases.ts";
import type { ScopeFollower } from "./survey.ts";

/** What answers are made of. */
export interface AnsweringParts {
  readonly reader: Reader;
  readonly clock: Clock;
  /** What surveys have in turn with other work. Default: they have all of it. */
  readonly turns?: Turns;
  readonly names: NameSettings;
  readonly queries: QueryStages;
  /** The scopes that are answered in, beside everything; they may have a view. */
  readonly scopes?: readonly Visibility[];
  /** The clusters that may push: a status names those of which nothing is known. Default: none is named. */
  readonly clusterIds?: readonly string[] | undefined;
  /** Milliseconds after its lease for which a cluster is live. Default: 0 */
  readonly hold?: number | undefined;
  /** Since when a change waits that answers should have (Unix milliseconds). Default: none waits. */
  readonly behindSince?: (now: number) => number | undefined;
  /** What a status says of the store, to clients for whom everything exists. Default: nothing. */
  readonly store?: () => Pick<ServingStatus, "position" | "storeTrouble">;
  /** Who pushes for a cluster beside the worker that holds its lease. Default: it is not known. */
  readonly contentionOf?: (clusterId: string) => Contention | undefined;
  /** The SOA serial after a change. Default: the time in seconds. */
  readonly serial?: () => number;
  /** Called before anything is answered: takes over what changed elsewhere. Default: nothing does. */
  readonly catchUp?: () => void;
  /** Called with each cluster whose lease expired. */
  readonly onExpired?: (clusterId: string, meta: ClusterMeta) => void;
}

const NO_UNITS: ReadonlyMap<string, KeptUnit> = new Map();
/**
 * Queries, and parts for secondaries, that wait for large keys at a time. Those of one namespace are at most
 * as many as there are places left; others get SERVFAIL.
 */
const MOST_WAITING = 20_000;
/** Milliseconds for which somebody waits for a survey. */
const MOST_SURVEY = 2000;

/** The clusters of a scope. */
interface ScopeClusters {
  readonly live: readonly string[];
  /** Whether a name may be denied: a cluster is live, or the last ones left on purpose. */
  readonly isKnown: boolean;
}

/**
 * The clusters as their rows say, and what is answered from, in each scope. It only reads: a thread that
 * answers has one over its own connection. Times are those of the gateway's clock.
 */
export class AnsweringState {
  /** The gateway for clients for whom everything exists. */
  readonly everything: ScopedGateway;
  /** By `visibilityKey`, that of everything included. */
  readonly scopes: ReadonlyMap<string, ScopedGateway>;
  readonly #parts: AnsweringParts;
  readonly #live = new Map<string, ClusterMeta>();
  readonly #expired = new Map<string, ClusterMeta>();
  /** Clusters that left on purpose, with the generation that they had; 0 for one that was not known. */
  readonly #left = new Map<string, number>();
  readonly #rows = new Map<string, ClusterRow>();
  readonly #scopes = new Map<string, KeyedScope>();
  /** Cleared when a cluster joins, leaves or expires. */
  readonly #clusters = new Map<KeyedScope, ScopeClusters>();
  #leases!: Leases;
  #nextExpiry = Number.POSITIVE_INFINITY;
  /**
   * SOA serial for clients for whom everything exists, the time of the newest change in seconds, which grows
   * over restarts, too (RFC 1982). In other scopes it is the time of the answer.
   */
  #serial = 0;
  #position = 0;
  /** See `Reader.clustersSince`. */
  #change = 0;
  /** How often all rows were loaded anew. */
  #loads: string | undefined;
  /** Queries that wait for large keys, and how many by namespace. */
  #waiting = 0;
  readonly #waitingIn = new Map<string, number>();

  /** @throws {RangeError} for a scope that contradicts itself, or has a range that is none */
  constructor(parts: AnsweringParts) {
    this.#parts = parts;
    const { scopes: visibilities = [] } = parts;
    const scopes = new Map<string, ScopedGateway>();
    for (const visibility of [{}, ...visibilities]) {
      checkVisibility(visibility);
      const key = visibilityKey(visibility);
      if (!scopes.has(key)) scopes.set(key, this.#answersIn(visibility));
    }
    this.scopes = scopes;
    this.everything = scopes.get("")!;
    this.reload();
  }

  /** Of the newest change in the answers. */
  get position(): number {
    return this.#position;
  }

  /** SOA serial of the answers. */
  get serial(): number {
    return this.#serial;
  }

  /** When the next lease expires; Infinity for never. */
  get nextExpiry(): number {
    return this.#nextExpiry;
  }

  /** Every cluster, whatever the scope: the meta of a live one. */
  get live(): ReadonlyMap<string, ClusterMeta> {
    return this.#live;
  }

  get expired(): ReadonlyMap<string, ClusterMeta> {
    return this.#expired;
  }

  /** Clusters that left on purpose, with the newest generation that is gone; 0 where it was not known. */
  get left(): ReadonlyMap<string, number> {
    return this.#left;
  }

  /** The last generation that is known of a cluster; 0 for none. */
  generationOf(clusterId: string): number {
    const held = this.#live.get(clusterId) ?? this.#expired.get(clusterId);
    return held?.generation ?? this.#left.get(clusterId) ?? 0;
  }

  /** @throws {RangeError} for a scope that it was not made with */
  within(scope: Visibility): ScopedGateway {
    const key = visibilityKey(scope);
    const within = this.scopes.get(key);
    if (within === undefined) throw new RangeError(`the gateway was not opened with the scope ${key}`);
    return within;
  }

  /** Has changes of a scope followed. @throws {RangeError} as `within` */
  followScope(visibility: Visibility, follower: ScopeFollower): void {
    this.within(visibility);
    this.#scopes.get(visibilityKey(withoutView(visibility)))!.follow(follower);
  }

  /** Takes over what another connection changed: keys that the log names, and rows of clusters. */
  follow(): void {
    const { reader } = this.#parts;
    if (reader.meta("loads") !== this.#loads) this.reload();
    for (;;) {
      const log = reader.changesSince(this.#position);
      if (log === undefined) {
        this.reload();
        break;
      }
      for (const { position, cluster, keys } of log) {
        this.#keysChanged(cluster, keys);
        // A survey needs to know which services a cluster had a part in.
        if (keys === undefined) for (const scope of this.#scopes.values()) scope.everythingChanged();
        this.#position = position;
      }
      if (log.length === 0) break;
    }
    const { rows, change } = reader.clustersSince(this.#change);
    this.#change = change;
    for (const row of rows) this.#update(row);
  }

  /** Takes over a change that this process applied. */
  applied({ position, keys, cluster }: Applied): void {
    this.#position = position;
    if (keys.length > 0) this.#keysChanged(cluster.id, keys);
    this.#update(cluster);
  }

  /** Takes over all rows, which may have nothing in common with those before. */
  reload(): void {
    const { reader } = this.#parts;
    // Another connection may write in between: what is read first is old at worst, and read again.
    this.#loads = reader.meta("loads");
    this.#position = reader.position();
    const { rows, change } = reader.clustersSince(0);
    const known = new Set([...this.#rows.keys(), ...rows.map(({ id }) => id)]);
    for (const clusters of [this.#live, this.#expired, this.#left, this.#rows]) clusters.clear();
    for (const row of rows) this.#set(row);
    this.#change = change;
    for (const id of known) this.#keysChanged(id, undefined);
    for (const scope of this.#scopes.values()) scope.everythingChanged();
    this.#membersChanged();
  }

  /** Has a cluster's lease go on that cannot be stored: what is in memory needs no disk. */
  hold(clusterId: string, meta: ClusterMeta): void {
    if (!this.#live.has(clusterId)) return;
    this.#live.set(clusterId, meta);
    this.#leasesChanged();
  }

  /** Drops clusters whose lease expired. @returns the time now */
  expireNow(now = this.#parts.clock.now()): number {
    const { hold = 0, onExpired, catchUp } = this.#parts;
    catchUp?.();
    if (now < this.#nextExpiry) return now;
    for (const [clusterId, meta] of this.#live) {
      if (meta.expiresAt + hold > now) continue;
      this.#live.delete(clusterId);
      this.#expired.set(clusterId, meta);
      this.#clusterChanged(clusterId);
      onExpired?.(clusterId, meta);
    }
    this.#leasesChanged();
    return now;
  }

  /**
   * Clusters whose lease expired while the database still has them as live, and when: secondaries may still
   * answer their names.
   */
  *unwrittenExpiries(): Generator<readonly [clusterId: string, since: number]> {
    for (const [id, { expiresAt }] of this.#expired)
      if (this.#rows.get(id)?.state === "live") yield [id, unixTime(this.#parts.clock, expiresAt)];
  }

  #answersIn(visibility: Visibility): ScopedGateway {
    const { names, reader, clock, queries, catchUp, store, behindSince = () => undefined } = this.#parts;
    const { turns = new Turns(clock) } = this.#parts;
    const { view } = visibility;
    const key = visibilityKey(withoutView(visibility));
    const scope =
      this.#scopes.get(key) ??
      new KeyedScope(reader, withoutView(visibility), names, () => current()?.world, turns);
    this.#scopes.set(key, scope);
    const current = (now = clock.now()): ServedWorld | undefined => {
      this.expireNow(now);
      const { live, isKnown } = this.#clustersIn(scope);
      // When something hidden changed must not be seen.
      const serial = scope.filter === undefined ? this.#serial : this.#secondsAt(now);
      return isKnown ? { world: scope.world(live, serial), leases: this.#leases } : undefined;
    };
    type Use<Result> = (served: ServedWorld | undefined, now: number) => Result;
    /** @param units of large keys */
    const attempt = <Result>(
      units: ReadonlyMap<string, KeptUnit>,
      use: Use<Result>,
      now: number,
    ): Result | LargeKey => {
      const served = current(now);
      scope.lend(units);
      try {
        return use(served, now);
      } catch (error) {
        if (error instanceof LargeKey) return error;
        throw error;
      } finally {
        scope.lend(undefined);
      }
    };
    const attemptLater = async <Result>(use: Use<Result>, first: LargeKey): Promise<Result> => {
      const namespace = namespaceOf(first.id);
      const others = this.#waitingIn.get(namespace) ?? 0;
      if (others >= MOST_WAITING - this.#waiting) return use(undefined, clock.now());
      this.#waits(namespace, 1);
      try {
        const units = new Map<string, KeptUnit>();
        for (let missing = first; ; ) {
          units.set(missing.id, await scope.compile(missing));
          const result = attempt(units, use, clock.now());
          if (!(result instanceof LargeKey)) return result;
          missing = result;
        }
      } finally {
        this.#waits(namespace, -1);
      }
    };
    const withNames: ScopedGateway["withNames"] = (use, now = clock.now()) => {
      const result = attempt(NO_UNITS, use, now);
      return result instanceof LargeKey ? attemptLater(use, result) : result;
    };
    return {
      current,
      withNames,
      answer: (lent, given, now, transport) => {
        let query = lent;
        const client = { view: view ?? given, transport };
        const answer = withNames((served, at) => {
          if (served === undefined) return queries.notReady(query, client);
          const { world, leases } = served;
          const stale = behindSince(at) !== undefined;
          return queries.resolve(query, { ...client, world, leases, now: at, stale });
        }, now);
        if (answer instanceof Promise) query = lent.slice();
        return answer;
      },
      hasCluster: (clusterId) => {
        catchUp?.();
        const isKnown = this.#live.has(clusterId) || this.#expired.has(clusterId);
        return isKnown && (view ?? clusterId) === clusterId && scope.has(clusterId);
      },
      survey: () => this.#survey(scope, key === ""),
      status: () => ({
        ...this.#status(scope, key === "", behindSince(this.expireNow())),
        ...(visibilityKey(visibility) === "" && store?.()),
      }),
    };
  }

  async #survey(scope: KeyedScope, isEverything: boolean): Promise<Surveyed | undefined> {
    const { clock, turns = new Turns(clock), contentionOf } = this.#parts;
    const [survey] = await Promise.all([
      scope.survey.within(MOST_SURVEY, turns.later, clock),
      atMost(MOST_SURVEY, clock, scope.count()),
    ]);
    if (survey === undefined || !isEverything) return survey;
    const contested = [...this.#live].flatMap(([id, { instance }]) => {
      const contention = contentionOf?.(id);
      return contention === undefined ? [] : [contentionFinding(id, instance, contention)];
    });
    const { conflicts, services } = survey;
    return { conflicts, services, findings: [...contested, ...survey.findings].sort(compareFindings) };
  }

  #status(scope: KeyedScope, isEverything: boolean, behindSince: number | undefined): ServingStatus {
    const { clusterIds = [] } = this.#parts;
    const { live, isKnown } = this.#clustersIn(scope);
    const expired = [...this.#expired.keys()].filter((id) => scope.has(id));
    return {
      ready: isKnown,
      stateHash: isEverything ? this.#stateHash() : undefined,
      // In a scope it would show when something hidden changes.
      compiledBytes: isEverything ? this.#cachedBytes() : 0,
      services: scope.survey.services,
      clusters: [...live, ...expired].sort().map((id) => this.#clusterStatus(id, scope)),
      ...neverSeen(
        clusterIds.filter((id) => scope.has(id)),
        (id) => this.#live.has(id) || this.#expired.has(id) || this.#left.has(id),
      ),
      ...(behindSince !== undefined && { behindSince }),
    };
  }

  /**
   * Counts a query that waits for large keys, or that no longer does.
   * @param namespace with the kind of zone
   */
  #waits(namespace: string, change: 1 | -1): void {
    this.#waiting += change;
    const others = (this.#waitingIn.get(namespace) ?? 0) + change;
    if (others > 0) this.#waitingIn.set(namespace, others);
    else this.#waitingIn.delete(namespace);
  }

  #cachedBytes(): number {
    return [...this.#scopes.values()].reduce((sum, { cachedBytes }) => sum + cachedBytes, 0);
  }

  #clusterStatus(clusterId: string, scope: KeyedScope): ClusterStatus {
    const live = this.#live.get(clusterId);
    const { instance: _, degraded: reported = [], ...meta } = live ?? this.#expired.get(clusterId)!;
    // What a worker cannot read may not exist in the scope.
    const isWhole = scope.filter === undefined;
    const degraded = isWhole ? reported : reported.map(({ reason, since }) => ({ reason, since }));
    const contention = this.#parts.contentionOf?.(clusterId);
    const all =
      contention === undefined
        ? degraded
        : [...degraded, { reason: OTHER_INSTANCE, since: contention.since }];
    const counts = scope.counts(this.#rows.get(clusterId)!);
    return {
      clusterId,
      ...meta,
      ...(all.length > 0 && { degraded: all }),
      live: live !== undefined,
      ...counts,
    };
  }

  /** Equal where all clusters that are live have equal rows. */
  #stateHash(): string {
    const sums = [...this.#live.keys()].sort().map((id) => `${id} ${this.#rows.get(id)!.sum}`);
    return sumOf(...sums)
      .toString(16)
      .padStart(12, "0");
  }

  /** The live clusters of a scope, and whether a name may be denied there. */
  #clustersIn(scope: KeyedScope): ScopeClusters {
    const known = this.#clusters.get(scope);
    if (known !== undefined) return known;
    const live = [...this.#live.keys()].filter((id) => scope.has(id));
    const allLeft = [...this.#rows.values()].every(({ id, state }) => state === "left" || !scope.has(id));
    const someLeft = [...this.#left].some(([id, generation]) => generation > 0 && scope.has(id));
    const clusters = { live, isKnown: live.length > 0 || (someLeft && allLeft) };
    this.#clusters.set(scope, clusters);
    return clusters;
  }

  /** Takes over a row. */
  #update(row: ClusterRow): void {
    const { id } = row;
    const before = this.#rows.get(id);
    const wasLive = this.#live.has(id);
    this.#set(row);
    // A lease may have expired here, and been renewed, without a row that says so in between.
    if (before?.state !== row.state || wasLive !== this.#live.has(id)) this.#clusterChanged(id);
    this.#leasesChanged();
  }

  #set(row: ClusterRow): void {
    const { id, state } = row;
    const before = this.#live.get(id) ?? this.#expired.get(id);
    const isAsBefore =
      before !== undefined && JSON.stringify(this.#rows.get(id)?.meta) === JSON.stringify(row.meta);
    const meta = isAsBefore ? before : row.meta && resumed(row.meta, this.#parts.clock);
    this.#rows.set(id, row);
    this.#live.delete(id);
    this.#expired.delete(id);
    this.#left.delete(id);
    if (state === "left") this.#left.set(id, meta?.generation ?? 0);
    else if (meta !== undefined && state === "live") this.#live.set(id, meta);
    else if (meta !== undefined && state === "expired") this.#expired.set(id, meta);
  }

  #keysChanged(clusterId: string, keys: readonly string[] | undefined): void {
    if (keys === undefined) this.#clusterChanged(clusterId);
    else for (const scope of this.#scopes.values()) scope.changed(clusterId, keys);
    this.#serial = this.#newSerial();
  }

  #clusterChanged(clusterId: string): void {
    for (const scope of this.#scopes.values()) scope.clusterChanged(clusterId);
    this.#membersChanged();
  }

  #membersChanged(): void {
    this.#clusters.clear();
    this.#leasesChanged();
    this.#serial = this.#newSerial();
  }

  #leasesChanged(): void {
    const { hold = 0 } = this.#parts;
    this.#leases = new LeaseTables((clusterId) => this.#live.get(clusterId)?.expiresAt);
    let next = Number.POSITIVE_INFINITY;
    for (const { expiresAt } of this.#live.values()) next = Math.min(next, expiresAt + hold);
    this.#nextExpiry = next;
  }

  #newSerial(): number {
    const { clock, serial = () => this.#secondsAt(clock.now()) } = this.#parts;
    return serial();
  }

  #secondsAt(now: number): number {
    return Math.floor(unixTime(this.#parts.clock, now) / 1000) % 2 ** 32;
  }
}
