import { drain } from "../../snapshot/drain.ts";
import type { AddressKey, ReverseClaim } from "./reverse-order.ts";

type Order = readonly ReverseClaim[];
type Bucket = ReadonlyMap<AddressKey, Order>;

/** A change copies one bucket and the list of them. */
const BUCKETS = 1024;
/** Changes of one step: each may copy a bucket. */
const CHANGES_IN_STEP = 64;
const EMPTY: Bucket = new Map();

/**
 * The orders of claims on contested addresses, first come first. Immutable: a changed one shares the buckets that did not change, so that following
 * a change costs what changed.
 */
export class ClaimOrders {
  static readonly none = new ClaimOrders(new Array<Bucket>(BUCKETS).fill(EMPTY), 0);
  readonly size: number;
  readonly #buckets: readonly Bucket[];

  private constructor(buckets: readonly Bucket[], size: number) {
    this.#buckets = buckets;
    this.size = size;
  }

  get(address: AddressKey): Order | undefined {
    return this.#buckets[bucketOf(address)]!.get(address);
  }

  has(address: AddressKey): boolean {
    return this.#buckets[bucketOf(address)]!.has(address);
  }

  *[Symbol.iterator](): Generator<readonly [AddressKey, Order]> {
    for (const bucket of this.#buckets) yield* bucket;
  }

  /** @param changes by address: its order from now on, or undefined where it has none any more */
  with(changes: ReadonlyMap<AddressKey, Order | undefined>): ClaimOrders {
    return drain(this.withInSteps(changes));
  }

  /** `with`, in steps. */
  *withInSteps(changes: ReadonlyMap<AddressKey, Order | undefined>): Generator<void, ClaimOrders> {
    if (changes.size === 0) return this;
    let count = 0;
    const buckets = [...this.#buckets];
    const copied = new Map<number, Map<AddressKey, Order>>();
    let { size } = this;
    for (const [address, order] of changes) {
      const number = bucketOf(address);
      const bucket = copied.get(number) ?? new Map(buckets[number]);
      copied.set(number, bucket);
      buckets[number] = bucket;
      size -= bucket.size;
      if (order === undefined) bucket.delete(address);
      else bucket.set(address, order);
      size += bucket.size;
      if (++count % CHANGES_IN_STEP === 0) yield;
    }
    return new ClaimOrders(buckets, size);
  }

  /** The addresses whose order is another one than in `before`. */
  *changedSince(before: ClaimOrders): Generator<AddressKey> {
    for (const [number, bucket] of this.#buckets.entries()) {
      const old = before.#buckets[number]!;
      if (bucket === old) continue;
      for (const [address, order] of bucket) if (old.get(address) !== order) yield address;
      for (const address of old.keys()) if (!bucket.has(address)) yield address;
    }
  }
}

/** The last bytes differ most from address to address. */
function bucketOf(address: AddressKey): number {
  return Number.parseInt(address.slice(-4), 16) % BUCKETS;
}
