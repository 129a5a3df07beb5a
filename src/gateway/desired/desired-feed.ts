import type { IndexWatcher } from "../../merge/index/service-index.ts";
import { namespaceOf } from "../../merge/service-key.ts";
import { type CursorSource, DesiredCursor } from "./desired-cursor.ts";
import { deriveLines, keyOfInvalidExport, type LineSource } from "./desired-lines.ts";
import { KeptLines } from "./kept-lines.ts";
import { NamespaceVersions } from "./namespace-versions.ts";

/** What a feed is made of. */
export interface FeedParts extends LineSource {
  /** When the lease of a cluster that exists in the scope expires, by the gateway's clock; undefined for one that is not live. */
  readonly expiresAt: (clusterId: string) => number | undefined;
  /** Called with the error of a service that could not be derived: its lines stay as they are. */
  readonly onError: (error: unknown) => void;
}

/**
 * The desired state of each cluster that may read it, as things exist in one scope. It follows the index: a change costs what the services that it
 * touches cost, and each line keeps the version since which it is as it is.
 */
export class DesiredFeed implements IndexWatcher, CursorSource {
  readonly #parts: FeedParts;
  readonly #kept = new KeptLines();
  readonly #namespaces = new Map<string, NamespaceVersions>();
  readonly #cursors = new Set<DesiredCursor>();
  readonly #touched = new Set<string>();
  readonly #touchedClusters = new Set<string>();
  /** Told apart from those of other feeds and processes. */
  readonly #name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  #version = 1;
  #isClosed = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
    parts.index.watch(this);
  }

  /** The version of the newest whole state. */
  get version(): number {
    return this.#version;
  }

  /** Whether a cluster is live, so that its desired state is known. */
  has(clusterId: string): boolean {
    const { clusters, index, services } = this.#parts;
    if (!clusters.has(clusterId) || services.filter?.hasCluster(clusterId) === false) return false;
    return index.clusters.has(clusterId) && this.#namespaces.has(clusterId);
  }

  /** Begins to read the desired state of a cluster. @param after the position from which to resume */
  open(clusterId: string, after: string | undefined): DesiredCursor {
    const version = this.#versionAt(after);
    const isKnown = version !== undefined && version >= this.forgotten(clusterId);
    const cursor = new DesiredCursor(this, this.#kept, clusterId, isKnown ? version : undefined, () =>
      this.#cursors.delete(cursor),
    );
    this.#cursors.add(cursor);
    if (this.#isClosed) cursor.end();
    return cursor;
  }

  /** The position of a version, which `open` takes. */
  positionOf(version: number): string {
    return `${this.#name}.${version}`;
  }

  /** The version before which removed lines and namespaces may be forgotten. */
  forgotten(clusterId: string): number {
    return Math.max(this.#kept.forgotten, this.#namespaces.get(clusterId)?.forgotten ?? 0);
  }

  namespacesOf(clusterId: string): NamespaceVersions | undefined {
    return this.#namespaces.get(clusterId);
  }

  /** Seconds until the lease of the cluster itself and of each exporter in its namespaces expires. @param now by the gateway's clock */
  leases(clusterId: string, now: number): Record<string, number> {
    const namespaces = this.#namespaces.get(clusterId) ?? NOTHING;
    const named = new Set([clusterId, ...this.#kept.exporters.within(namespaces)]);
    const leases: Record<string, number> = {};
    for (const exporter of named) {
      const expiresAt = this.#parts.expiresAt(exporter);
      if (expiresAt !== undefined) leases[exporter] = Math.max(0, Math.floor((expiresAt - now) / 1000));
    }
    return leases;
  }

  /** Follows the index, which must not change meanwhile, in steps of one service. */
  *update(): Generator<void> {
    if (this.#touched.size === 0 && this.#touchedClusters.size === 0) return;
    const version = this.#version + 1;
    const changed = new Set<string>();
    const regained = this.#followClusters(version);
    for (const key of this.#touched) {
      this.#touched.delete(key);
      try {
        if (this.#kept.take(key, deriveLines(this.#parts, key), version)) changed.add(key);
      } catch (error) {
        this.#parts.onError(error);
      }
      yield;
    }
    this.#version = version;
    this.#kept.settle();
    for (const cursor of this.#cursors) {
      const namespaces = regained.get(cursor.clusterId) ?? NOTHING;
      const keys = namespaces.size === 0 ? [] : this.#kept.keys();
      for (const key of keys) if (namespaces.has(namespaceOf(key))) cursor.touch(key);
      for (const key of changed) cursor.touch(key);
      cursor.wake();
    }
  }

  /** Ends all streams, and each that begins later. */
  close(): void {
    this.#isClosed = true;
    for (const cursor of this.#cursors) cursor.end();
  }

  serviceChanged(key: string): void {
    this.#touched.add(key);
  }

  importersChanged(): void {}

  clusterChanged(clusterId: string): void {
    if (this.#parts.clusters.has(clusterId)) this.#touchedClusters.add(clusterId);
  }

  localChanged(): void {}

  findingChanged(clusterId: string, finding?: string): void {
    if (!this.#parts.clusters.has(clusterId)) return;
    if (finding !== undefined) this.#touchExport(finding);
    else
      for (const one of this.#parts.index.clusters.get(clusterId)?.state.keys("findings") ?? [])
        this.#touchExport(one);
  }

  #touchExport(finding: string): void {
    const key = keyOfInvalidExport(finding);
    if (key !== undefined) this.#touched.add(key);
  }

  /** @returns the namespaces that clusters have gained or lost */
  #followClusters(version: number): ReadonlyMap<string, ReadonlySet<string>> {
    const { index, services } = this.#parts;
    const changes = new Map<string, ReadonlySet<string>>();
    for (const clusterId of this.#touchedClusters) {
      this.#touchedClusters.delete(clusterId);
      const cluster = index.clusters.get(clusterId);
      if (cluster === undefined) {
        // Its worker keeps what it has: nothing follows from silence.
        this.#namespaces.delete(clusterId);
        for (const cursor of this.#cursors) if (cursor.clusterId === clusterId) cursor.end();
        // What was an invalid export may be none when the cluster comes back.
        for (const key of this.#kept.keys()) this.#touched.add(key);
        continue;
      }
      const known = this.#namespaces.get(clusterId) ?? new NamespaceVersions(version);
      this.#namespaces.set(clusterId, known);
      const { filter } = services;
      const visible =
        filter === undefined ? cluster.namespaces : [...cluster.namespaces].filter(filter.hasNamespace);
      changes.set(clusterId, new Set(known.take(new Set(visible), version)));
    }
    return changes;
  }

  #versionAt(position: string | undefined): number | undefined {
    const [name, version = "", ...more] = (position ?? "").split(".");
    if (name !== this.#name || more.length > 0 || !/^\d{1,15}$/.test(version)) return undefined;
    return Number(version) <= this.#version ? Number(version) : undefined;
  }
}

const NOTHING: ReadonlySet<string> = new Set();
