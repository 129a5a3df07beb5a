import { LRUCache } from "lru-cache";
import { hexOf, Kind } from "../database/places.ts";
import type { Reach } from "../desired/desired-service.ts";
import type { Steps } from "../dns/steps.ts";
import { namespaceOf } from "../merge/order.ts";
import type { Visibility } from "../merge/visibility.ts";
import type { KeyWorld } from "../names/key-world.ts";
import {
  deriveLines,
  exportLine,
  invalidExportsAt,
  KeptLines,
  type LineTerms,
  type ServiceLines,
  textOf,
} from "./desired-lines.ts";
import type { ScopeFollower } from "./survey.ts";

/** What a feed is made of. */
interface FeedParts extends LineTerms {
  /** What is answered from now in the scope; undefined while nothing is. */
  readonly world: () => KeyWorld | undefined;
  /** When the lease of a cluster expires, by the gateway's clock; undefined for one that is not live. */
  readonly expiresAt: (clusterId: string) => number | undefined;
  /**
   * Called with the error of a service that could not be derived: a stream that has lines of it goes on with
   * them.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * Changed keys that are remembered: a stream that resumes from before the oldest one begins with a snapshot.
 */
const MOST_KEYS = 10_000;
/** Changed namespaces of one cluster that are remembered. */
const MOST_NAMESPACES = 1000;
/** Characters of lines that are kept for the other streams that come to the same services. */
const MOST_DERIVED = 4 * 1024 * 1024;

/**
 * The desired state of each cluster that may read it, as things exist in one scope. It learns which keys
 * changed; a stream derives the lines of a key when it comes to it, and the feed keeps since which version
 * each line is as it is.
 */
export class DesiredFeed implements ScopeFollower {
  readonly #parts: FeedParts;
  readonly #kept = new KeptLines();
  /** Services, rows of findings (after their cluster), and clusters that came or went (as `clusterName`). */
  readonly #changes = new RecentChanges(MOST_KEYS);
  /** By cluster that may read its state. */
  readonly #namespaces = new Map<string, RecentChanges>();
  /**
   * By the name of a row of findings: services that it names, and those that it named whose lines may have to
   * be taken back.
   */
  readonly #invalid = new Map<string, ReadonlySet<string>>();
  /** Lines as they are now. */
  readonly #derived = new LRUCache<string, ServiceLines>({
    maxSize: MOST_DERIVED,
    sizeCalculation: (lines) => [...lines.values()].reduce((sum, { text }) => sum + text.length, 1),
  });
  readonly #cursors = new Set<DesiredCursor>();
  /** Distinguishes its positions from those of other feeds and processes. */
  readonly #name = hexOf(crypto.getRandomValues(new Uint8Array(8)));
  #version = 1;
  #isClosed = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** Of the newest change. */
  get version(): number {
    return this.#version;
  }

  /** Whether a cluster is live, so that its desired state is known. */
  has(clusterId: string): boolean {
    const { clusters, world } = this.#parts;
    return clusters.has(clusterId) && world()?.context.clusterViews.has(clusterId) === true;
  }

  /** The clusters whose lines there are. */
  live(): Iterable<string> {
    return this.#parts.world()?.context.clusterViews ?? [];
  }

  /** Begins to read the desired state of a cluster. @param after the position from which to resume */
  open(clusterId: string, after: string | undefined): DesiredCursor {
    const version = this.#versionAt(after);
    const isKnown =
      version !== undefined && version >= Math.max(this.#changes.forgotten, this.forgotten(clusterId));
    const cursor = new DesiredCursor(this, clusterId, isKnown ? version : undefined, () =>
      this.#cursors.delete(cursor),
    );
    if (isKnown) {
      for (const name of this.#changes.since(version)) cursor.touch(name);
      for (const namespace of this.#namespaces.get(clusterId)?.since(version) ?? [])
        cursor.touch(`${namespace}/`);
    }
    this.#cursors.add(cursor);
    if (this.#isClosed) cursor.end();
    return cursor;
  }

  /** The position of a version, which `open` takes. */
  positionOf(version: number): string {
    return `${this.#name}.${version}`;
  }

  /** The version before which changes may be forgotten. */
  forgotten(clusterId: string): number {
    return Math.max(this.#kept.forgotten, this.#namespaces.get(clusterId)?.forgotten ?? 0);
  }

  /** Seconds until the lease of each live cluster expires. @param now by the gateway's clock */
  leases(now: number): Record<string, number> {
    const leases: Record<string, number> = {};
    for (const clusterId of this.live()) {
      const expiresAt = this.#parts.expiresAt(clusterId);
      if (expiresAt !== undefined) leases[clusterId] = Math.max(0, Math.floor((expiresAt - now) / 1000));
    }
    return leases;
  }

  /** Ends all streams, and each that begins later. */
  close(): void {
    this.#isClosed = true;
    for (const cursor of this.#cursors) cursor.end();
  }

  changed(clusterId: string, keys: readonly string[]): void {
    this.#version++;
    const isReader = this.#parts.clusters.has(clusterId);
    for (const key of keys) {
      if (key.endsWith("/") || key.startsWith("!")) this.#derived.clear();
      else this.#derived.delete(key);
      if (key.startsWith("!")) {
        if (isReader) this.#note(`${clusterId} ${key}`);
      } else if (key.endsWith("/")) {
        if (isReader) this.#namespaceChanged(clusterId, namespaceOf(key));
      } else if (key.includes("/")) this.#note(key);
    }
    for (const cursor of this.#cursors) cursor.wake();
  }

  clusterChanged(clusterId: string): void {
    this.#version++;
    this.#derived.clear();
    if (this.#parts.clusters.has(clusterId)) {
      // It may have come back with other namespaces, and reads a snapshot. Its worker keeps what it has
      // meanwhile: nothing follows from silence.
      this.#namespaces.set(clusterId, new RecentChanges(MOST_NAMESPACES, this.#version));
      for (const cursor of this.#cursors) if (cursor.clusterId === clusterId) cursor.end();
    }
    this.#note(clusterName(clusterId));
    for (const cursor of this.#cursors) cursor.wake();
  }

  /** Any key may have changed: streams begin anew. */
  everythingChanged(): void {
    for (const clusterId of this.#parts.clusters) this.clusterChanged(clusterId);
  }

  /** The keys that a name of a change stands for, of those that may concern a cluster. */
  *keysOf(clusterId: string, name: string): Generator<string> {
    const world = this.#parts.world();
    if (world === undefined) return;
    const { entries } = world;
    if (name.endsWith("/")) {
      const namespace = namespaceOf(name);
      yield* entries.serviceKeys(namespace);
      yield* this.#kept.keysIn(namespace);
    } else if (name.startsWith(clusterName(""))) {
      for (const kind of [Kind.export, Kind.import])
        yield* entries.keysOf(name.slice(clusterName("").length), kind);
    } else if (name.includes(" !")) {
      const [cluster, row] = name.split(" ") as [string, string];
      if (cluster === clusterId) yield* this.#invalidAt(world, cluster, row);
    } else yield name;
  }

  /** The names of changes that stand for all namespaces of a cluster. */
  namespacesOf(clusterId: string): Iterable<string> {
    return this.#parts.world()?.entries.keysOf(clusterId, Kind.namespace) ?? [];
  }

  /** The names of changes that stand for all that a cluster says that it cannot export. */
  *findingsOf(clusterId: string): Generator<string> {
    for (const row of this.#parts.world()?.entries.keysOf(clusterId, Kind.findings) ?? [])
      yield `${clusterId} ${row}`;
  }

  /**
   * The lines of a service that changed for a cluster after a version; undefined for a cluster that has none.
   */
  *linesOf(clusterId: string, key: string, after: number | undefined): Generator<string> {
    const world = this.#parts.world();
    if (world === undefined) return;
    const namespace = namespaceOf(key);
    const isOther =
      after !== undefined && this.#namespaces.get(clusterId)?.hasChanged(namespace, after) === true;
    if (world.entries.hasNamespace(clusterId, namespace)) {
      try {
        const lines = this.#derive(world, key);
        const isNew = after === undefined || isOther;
        yield* this.#kept.changes(key, lines, clusterId, after ?? Number.POSITIVE_INFINITY, isNew);
      } catch (error) {
        // What a snapshot does not name is not desired.
        if (after === undefined) throw error;
        this.#parts.onError(error);
      }
    } else if (isOther) yield* this.#kept.withdrawals(key, clusterId);
  }

  #derive(world: KeyWorld, key: string): ServiceLines {
    const known = this.#derived.get(key);
    if (known !== undefined) return known;
    const lines = deriveLines(world, this.#parts, key);
    this.#kept.take(key, lines, this.#version);
    this.#derived.set(key, lines);
    return lines;
  }

  #note(name: string): void {
    this.#changes.note(name, this.#version);
    for (const cursor of this.#cursors) cursor.touch(name);
  }

  #namespaceChanged(clusterId: string, namespace: string): void {
    const changes = this.#namespaces.get(clusterId) ?? new RecentChanges(MOST_NAMESPACES);
    this.#namespaces.set(clusterId, changes);
    changes.note(namespace, this.#version);
    for (const cursor of this.#cursors) if (cursor.clusterId === clusterId) cursor.touch(`${namespace}/`);
  }

  /**
   * Services that a cluster reports as not exportable, and those that it reported before and that have a line
   * still.
   * @param row a `findingsKey`
   */
  #invalidAt(world: KeyWorld, clusterId: string, row: string): Iterable<string> {
    const name = `${clusterId} ${row}`;
    const before = this.#invalid.get(name) ?? [];
    const isKept = (key: string) => this.#kept.has(key, exportLine(clusterId));
    const keys = new Set([...invalidExportsAt(world, clusterId, row), ...[...before].filter(isKept)]);
    this.#invalid.delete(name);
    if (keys.size > 0) this.#invalid.set(name, keys);
    return keys;
  }

  #versionAt(position: string | undefined): number | undefined {
    const [name, version = "", ...more] = (position ?? "").split(".");
    if (name !== this.#name || more.length > 0 || !/^\d{1,15}$/.test(version)) return undefined;
    return Number(version) <= this.#version ? Number(version) : undefined;
  }
}

/** No service has a key like it. */
function clusterName(clusterId: string): string {
  return `/ ${clusterId}`;
}

/** When things changed last, the newest changes up to a number of things. */
export class RecentChanges {
  readonly #versions: LRUCache<string, number>;
  /** The version up to which changes may be forgotten. */
  forgotten: number;

  /**
   * @param most things that are remembered
   * @param forgotten the version up to which nothing is known
   */
  constructor(most: number, forgotten = 0) {
    this.forgotten = forgotten;
    const dispose = (version: number, _: string, reason: string) => {
      if (reason === "evict") this.forgotten = version;
    };
    this.#versions = new LRUCache({ max: most, dispose });
  }

  /** Takes over that something changed with a version, which is the newest. */
  note(name: string, version: number): void {
    this.#versions.set(name, version);
  }

  hasChanged(name: string, after: number): boolean {
    return (this.#versions.peek(name) ?? 0) > after;
  }

  /** What changed after a version, in the order of versions. */
  *since(after: number): Generator<string> {
    for (const name of this.#versions.rkeys()) if (this.hasChanged(name, after)) yield name;
  }
}

/**
 * How far one stream has read the desired state of its cluster. It holds the names of what changed, and no
 * lines.
 */
export class DesiredCursor {
  readonly clusterId: string;
  readonly #feed: DesiredFeed;
  readonly #closed: () => void;
  /** The version that the reader has; undefined where it has nothing. */
  #version: number | undefined;
  #touched = new Set<string>();
  #isFirst = true;
  /** Clusters that were live when the last lines that are whole began. */
  #covered: ReadonlySet<string> = new Set();
  #isEnded = false;
  #lines: Iterator<string | undefined> | undefined;
  #wake: (() => void) | undefined;

  /** @param version the one that the reader has; undefined for a snapshot */
  constructor(feed: DesiredFeed, clusterId: string, version: number | undefined, closed: () => void) {
    this.#feed = feed;
    this.clusterId = clusterId;
    this.#version = version;
    this.#closed = closed;
  }

  /** Whether nothing follows: the cluster left, or the reader is so far behind that it must begin anew. */
  get isEnded(): boolean {
    const isBehind = this.#version !== undefined && this.#version < this.#feed.forgotten(this.clusterId);
    return this.#isEnded || isBehind || !this.#feed.has(this.clusterId);
  }

  /** Whether the reader has all that there is. */
  get isIdle(): boolean {
    return !this.#isFirst && this.#lines === undefined && this.#touched.size === 0;
  }

  /** Whether the reader has all lines of a live cluster: what they do not name is not desired. */
  covers(clusterId: string): boolean {
    return this.isIdle || this.#covered.has(clusterId);
  }

  /** Whether the reader has had a whole state or all changes since its own. */
  get hasBegun(): boolean {
    return !this.#isFirst;
  }

  /**
   * The next lines, up to about `most` characters: at least one line, unless the reader has all that there
   * is, or is closed meanwhile, or something else is due.
   */
  *read(most: number, isDue: () => boolean): Steps<{ readonly text: string; readonly lines: number }> {
    let text = "";
    let lines = 0;
    while (text.length < most && !this.isIdle && !this.#isEnded && !isDue()) {
      this.#lines ??= this.#batch();
      const next = this.#lines.next();
      if (next.done === true) this.#lines = undefined;
      else if (next.value === undefined) yield;
      else {
        text += next.value;
        lines++;
      }
    }
    return { text, lines };
  }

  /** Something changed. @param name as the feed has it */
  touch(name: string): void {
    const isInSnapshot = this.#version === undefined && this.#isFirst && this.#lines === undefined;
    if (!isInSnapshot) this.#touched.add(name);
  }

  /** Has something called when there may be something to read, or the end. */
  onWake(wake: () => void): void {
    this.#wake = wake;
  }

  wake(): void {
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  close(): void {
    this.#isEnded = true;
    this.#closed();
  }

  /** Lines that belong together, and their position, with `undefined` where a step ends. */
  *#batch(): Generator<string | undefined> {
    const { clusterId } = this;
    const feed = this.#feed;
    const upTo = feed.version;
    const live = new Set(feed.live());
    const touched = this.#touched;
    this.#touched = new Set();
    const isSnapshot = this.#version === undefined;
    if (this.#isFirst) yield textOf({ start: isSnapshot ? "snapshot" : "changes", formatVersion: 1 });
    if (isSnapshot) for (const name of feed.namespacesOf(clusterId)) touched.add(name);
    if ([...touched].some((name) => name.endsWith("/")))
      for (const name of feed.findingsOf(clusterId)) touched.add(name);
    const read = new Set<string>();
    for (const name of touched) {
      yield undefined;
      for (const key of feed.keysOf(clusterId, name)) {
        if (read.has(key)) continue;
        read.add(key);
        yield* feed.linesOf(clusterId, key, this.#version);
        yield undefined;
      }
    }
    yield textOf({ position: feed.positionOf(upTo) });
    this.#isFirst = false;
    this.#covered = live;
    this.#version = upTo;
  }
}

/** A cluster that may read its desired state. */
interface ControlledCluster {
  readonly clusterId: string;
  /** What exists for it. */
  readonly visibility: Visibility;
}

/** The control plane of a gateway. Hosts that serve none do not pass it, and do not load its code. */
export type Control = ReturnType<typeof createControl>;

/**
 * The control plane for some clusters.
 * @param reach how others reach their endpoints, by cluster id. Default: by the addresses of pods
 */
export function createControl(
  clusters: readonly ControlledCluster[],
  reach: ReadonlyMap<string, Reach> = new Map(),
) {
  const feeds: DesiredFeed[] = [];
  return {
    clusters,
    /** By which addresses other clusters reach the endpoints of one. */
    reachOf: (clusterId: string) => reach.get(clusterId) ?? "pods",
    createFeed: (parts: FeedParts) => {
      const feed = new DesiredFeed(parts);
      feeds.push(feed);
      return feed;
    },
    /** Ends all streams, such as when the gateway stops, and each that begins later. */
    close: () => {
      for (const feed of feeds) feed.close();
    },
  };
}
