import { type MergeOptions, mergeKey, rulesOf } from "../../src/merge/merge-key.ts";
import { compareFindings, compareKeys, compareText, nameOf, namespaceOf } from "../../src/merge/order.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { entriesOf } from "../names/entries-of.ts";

/** All live clusters taken together. */
export type Clusterset = ReturnType<typeof mergeClusterset>;

/** Every service of live clusters, merged key by key. */
export function mergeClusterset(snapshots: readonly ClusterSnapshot[], options: MergeOptions = {}) {
  const entries = entriesOf(snapshots);
  const rules = rulesOf(options);
  const ids = entries.clusters().map(({ clusterId }) => clusterId);
  const merged = [...new Set(entries.serviceKeys())].sort(compareKeys).map((key) => {
    const { contributions = [], clusters = new Set<string>() } =
      entries.service(namespaceOf(key), nameOf(key)) ?? {};
    const viewers = ids.filter((id) => entries.hasNamespace(id, namespaceOf(key)));
    return mergeKey(key, { contributions, clusters }, viewers, rules);
  });
  const findings = snapshots.flatMap(({ clusterId, findings }) =>
    Object.values(findings).map((one) => ({ ...one, clusterId })),
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
