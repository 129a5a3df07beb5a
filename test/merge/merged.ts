import { ABSENT_CLUSTER, type ClusterFinding } from "../../src/merge/clusterset.ts";
import { type MergedKey, type MergeOptions, mergeKey, rulesOf } from "../../src/merge/merge-key.ts";
import { compareFindings, compareKeys, compareText, nameOf, namespaceOf } from "../../src/merge/order.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { entriesOf, type Ranked } from "../names/entries-of.ts";

/** What else decides. */
export interface MergeContext {
  readonly ranked?: Ranked;
  readonly visibility?: Visibility;
  /** Whether there is a view of clusters that are not live. */
  readonly withAbsent?: boolean;
}

/** All live clusters taken together. */
export type Clusterset = ReturnType<typeof mergeClusterset>;

/** Every service of live clusters, merged key by key. */
export function mergeClusterset(
  snapshots: readonly ClusterSnapshot[],
  options: MergeOptions = {},
  { ranked, visibility, withAbsent = false }: MergeContext = {},
) {
  const filter = createEntryFilter(visibility ?? {});
  const entries = entriesOf(snapshots, visibility, ranked);
  const rules = rulesOf(options);
  const ids = entries.clusters().map(({ clusterId }) => clusterId);
  const merged = [...new Set(entries.serviceKeys())].sort(compareKeys).map((key): MergedKey => {
    const { contributions = [], clusters = new Set<string>() } =
      entries.service(namespaceOf(key), nameOf(key)) ?? {};
    const viewers = ids.filter((id) => entries.hasNamespace(id, namespaceOf(key)));
    const all = withAbsent ? [...viewers, ABSENT_CLUSTER] : viewers;
    return mergeKey(key, { contributions, clusters }, all, rules);
  });
  const findings: ClusterFinding[] = snapshots.flatMap(({ clusterId, findings }) =>
    Object.values(findings).flatMap((one) =>
      filter?.hasFinding(one) !== false ? { ...one, clusterId } : [],
    ),
  );
  return {
    clusters: [...snapshots]
      .sort((one, other) => compareText(one.clusterId, other.clusterId))
      .map(({ clusterId, namespaces }) => ({
        clusterId,
        namespaces: new Set(Object.keys(namespaces)),
      })),
    services: merged.flatMap(({ service }) => service ?? []),
    conflicts: merged.flatMap(({ conflicts }) => conflicts),
    findings: [...findings, ...merged.flatMap((one) => one.findings)].sort(compareFindings),
  };
}
