import { ABSENT_CLUSTER } from "../clusterset.ts";
import { compareText } from "../order.ts";
import type { Contribution } from "../service/declaration.ts";
import { namespaceOf } from "../service-key.ts";
import type { EntryFilter } from "../visibility/visible.ts";
import type { ServiceIndex } from "./service-index.ts";

/** The index as far as it exists in a scope. */
export class VisibleIndex {
  readonly #index: ServiceIndex;
  readonly #filter: EntryFilter | undefined;
  /** By namespace, without absent clusters. */
  readonly #viewers = new Map<string, readonly string[]>();

  /** @param filter default: everything exists */
  constructor(index: ServiceIndex, filter?: EntryFilter) {
    this.#index = index;
    this.#filter = filter;
  }

  /** By ascending id. */
  clusterIds(): string[] {
    const ids = [...this.#index.clusters.keys()];
    return (this.#filter === undefined ? ids : ids.filter(this.#filter.hasCluster)).sort(compareText);
  }

  /** What clusters contribute to a service, in order of cluster id, also to namespaces that they do not have. */
  contributions(key: string): readonly Contribution[] {
    const all = this.#index.contributions(key);
    const filter = this.#filter;
    if (filter === undefined || all.length === 0) return all;
    if (!filter.hasNamespace(namespaceOf(key))) return [];
    const seen = all.filter(({ clusterId }) => filter.hasCluster(clusterId));
    const isExported = () =>
      seen.some(({ clusterId, exported }) => exported !== undefined && this.isThere(clusterId, key));
    return seen.flatMap((one) => {
      const exported = one.exported && filter.exported(key, one.exported);
      const imported = one.imported && filter.imported(key, one.imported, isExported);
      const managed = one.managed && filter.imported(key, one.managed, isExported);
      const isSame = one.exported === exported && one.imported === imported && one.managed === managed;
      return isSame ? one : contributionOf(one, { exported, imported, managed });
    });
  }

  /** Whether a cluster has the namespace of a service. */
  isThere(clusterId: string, key: string): boolean {
    return this.#index.clustersWith(namespaceOf(key)).has(clusterId);
  }

  /** The clusters that have a namespace, by ascending id. @param withAbsent whether there is a view of clusters that are not live, too */
  viewers(namespace: string, withAbsent: boolean): readonly string[] {
    let viewers = this.#viewers.get(namespace);
    if (viewers === undefined) {
      const all = [...this.#index.clustersWith(namespace)];
      viewers = (this.#filter === undefined ? all : all.filter(this.#filter.hasCluster)).sort(compareText);
      this.#viewers.set(namespace, viewers);
    }
    return withAbsent ? [...viewers, ABSENT_CLUSTER] : viewers;
  }

  /** Forgets which clusters have which namespaces. */
  namespacesChanged(): void {
    this.#viewers.clear();
  }
}

function contributionOf(
  { clusterId, adjusted, importedSince }: Contribution,
  visible: Pick<Contribution, "exported" | "imported" | "managed">,
): Contribution[] {
  const { exported, imported, managed } = visible;
  if (exported === undefined && imported === undefined && managed === undefined) return [];
  return [
    {
      ...{ clusterId, ...visible },
      adjusted: exported && adjusted,
      importedSince: imported && importedSince,
    },
  ];
}
