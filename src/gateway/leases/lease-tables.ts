import type { Leases } from "../../resolve/leases.ts";
import type { Leased } from "../../zone/world.ts";

/** When the leases expire that a key's names depend on. A table is made when the key is first answered; a renewal makes new tables. */
export class LeaseTables implements Leases {
  readonly #expiresAt: (clusterId: string) => number | undefined;
  /** A secondary may drop keys from memory before leases change. */
  readonly #tables = new WeakMap<Leased, Float64Array>();

  /** @param expiresAt Unix milliseconds; undefined for clusters that are not held */
  constructor(expiresAt: (clusterId: string) => number | undefined) {
    this.#expiresAt = expiresAt;
  }

  of(names: Leased): Float64Array {
    const memo = names.leaseMemo;
    if (memo?.owner === this) return memo.table;
    let table = this.#tables.get(names);
    if (table === undefined) {
      table = leaseExpiry(names.leaseGroups, this.#expiresAt);
      this.#tables.set(names, table);
    }
    names.leaseMemo = { owner: this, table };
    return table;
  }
}

/** The same leases, for keys that may name a cluster that the frame does not have: its lease is not known. */
export function withoutShortcut(leases: Leases, frame: Leased): Leases {
  const expired = new Float64Array(frame.leaseGroups.length);
  return { of: (names) => (names === frame ? expired : leases.of(names)) };
}

/**
 * When each lease group's first lease expires. A cluster that is no longer live (no `expiresAt`) counts as expired: its records may be answered once more, but not be
 * cached.
 */
function leaseExpiry(
  groups: readonly (readonly string[])[],
  expiresAt: (clusterId: string) => number | undefined,
): Float64Array {
  return Float64Array.from(groups, (group) =>
    group.reduce((first, id) => Math.min(first, expiresAt(id) ?? 0), Number.POSITIVE_INFINITY),
  );
}
