import type { ServiceIndex } from "./service-index.ts";
import type { VisibleIndex } from "./visible-index.ts";

/** How many exports and imports of a cluster exist in a scope. */
export interface ServiceCounts {
  readonly exports: number;
  readonly imports: number;
}

const NOTHING: ServiceCounts = { exports: 0, imports: 0 };

/** Who has a part in a service: cluster ids. */
interface Counted {
  readonly exporters: readonly string[];
  readonly importers: readonly string[];
}

/** Counts the exports and imports that exist in a scope, service by service as they change. */
export class VisibleCounts {
  readonly #visible: VisibleIndex;
  readonly #counted = new Map<string, Counted>();
  readonly #counts = new Map<string, ServiceCounts>();

  constructor(visible: VisibleIndex) {
    this.#visible = visible;
  }

  of(clusterId: string): ServiceCounts {
    return this.#counts.get(clusterId) ?? NOTHING;
  }

  /** Counts a service anew. */
  update(key: string): void {
    const before = this.#counted.get(key);
    if (before !== undefined) this.#add(before, -1);
    const contributions = this.#visible.contributions(key);
    if (contributions.length === 0) {
      this.#counted.delete(key);
      return;
    }
    const after = {
      exporters: contributions.flatMap(({ clusterId, exported }) => (exported ? clusterId : [])),
      importers: contributions.flatMap(({ clusterId, imported, managed }) =>
        (imported ?? managed) ? clusterId : [],
      ),
    };
    this.#counted.set(key, after);
    this.#add(after, 1);
  }

  #add({ exporters, importers }: Counted, sign: 1 | -1): void {
    for (const clusterId of exporters) this.#change(clusterId, sign, 0);
    for (const clusterId of importers) this.#change(clusterId, 0, sign);
  }

  #change(clusterId: string, exports: number, imports: number): void {
    const counts = this.of(clusterId);
    const next = { exports: counts.exports + exports, imports: counts.imports + imports };
    if (next.exports + next.imports === 0) this.#counts.delete(clusterId);
    else this.#counts.set(clusterId, next);
  }
}

/** The counts of a scope in which every export and import exists. */
export function countAll(index: ServiceIndex): Pick<VisibleCounts, "of" | "update"> {
  return {
    of: (clusterId) => {
      const { exports, imports } = index.clusters.get(clusterId) ?? NOTHING;
      return { exports, imports };
    },
    update: () => {},
  };
}
