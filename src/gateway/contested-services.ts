import type { ClusterFinding } from "../merge/clusterset.ts";
import type { KeyWorld } from "../names/key-world.ts";

/**
 * The services that do not have reverse names since another cluster reported the addresses first. Most neighbourhoods of addresses (`claimBucket`) are
 * reported by one cluster, and cost one look each.
 */
export class ContestedServices {
  /** Buckets in which something changed. */
  readonly #buckets = new Set<string>();
  /** Services whose losses may have changed. */
  readonly #keys = new Set<string>();
  /** By bucket: the services that contest an address in it. */
  readonly #contesting = new Map<string, ReadonlySet<string>>();
  /** The reverse. */
  readonly #bucketsOf = new Map<string, Set<string>>();
  readonly #losses = new Map<string, readonly ClusterFinding[]>();

  /** Whether there is something to look at. */
  get isPending(): boolean {
    return this.#buckets.size + this.#keys.size > 0;
  }

  /** Takes over that a cluster reports other addresses of a bucket. */
  touch(bucket: string): void {
    this.#buckets.add(bucket);
  }

  /** Takes over that a service may have other addresses. @param buckets of those that it has now */
  note(key: string, buckets: readonly string[]): void {
    for (const bucket of buckets) this.#buckets.add(bucket);
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
  *update(world: KeyWorld): Generator<void> {
    for (const bucket of this.#buckets) {
      this.#buckets.delete(bucket);
      this.#contest(bucket, new Set([...world.entries.contestedIn(bucket).values()].flat()));
      yield;
    }
    for (const key of this.#keys) {
      this.#keys.delete(key);
      const losses = this.#bucketsOf.has(key) ? world.reverseLosses(key) : [];
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
