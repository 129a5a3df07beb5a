import { UsageError } from "../../../config/values/usage-error.ts";
import { SERVICE_EXPLAINER } from "../../../explain/service/explainer.ts";
import { LeaseTables } from "../../../gateway/leases/lease-tables.ts";
import { explainAnswer } from "../../../http/explain/explain-answer.ts";
import { jsonExplanation } from "../../../http/explain/json-explanation.ts";
import { renderJsonAnswer } from "../../../http/json/json-answer.ts";
import { MergedServices } from "../../../merge/index/merged-services.ts";
import { type Remembered, ServiceIndex } from "../../../merge/index/service-index.ts";
import { clustersetOf } from "../../../merge/merge.ts";
import { EVERYTHING } from "../../../merge/visibility/visibility.ts";
import { resolve } from "../../../resolve/resolve.ts";
import { drain } from "../../../snapshot/drain.ts";
import { heldSnapshot } from "../../../snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../snapshot/schema.ts";
import { type PinFlags, readPins } from "../flags/pin-flags.ts";
import { grantsFor, readGrant } from "../flags/speaks-for-flag.ts";
import { canonicalZone, compileZones } from "../listed-zones.ts";
import type { QueryQuestion, QueryResult } from "./query-result.ts";

/** What is answered without a gateway. */
export interface OfflineFlags extends PinFlags {
  readonly zone?: readonly string[] | undefined;
  readonly speaksFor?: readonly string[] | undefined;
}

/** Answers one question in a view. @throws {UsageError} for an unknown cluster */
export type AskOffline = (
  question: QueryQuestion,
  view: string | undefined,
  isExplained: boolean,
) => Omit<QueryResult, "source">;

/**
 * Merges and compiles snapshots like a gateway in which every cluster is live.
 * @param remembered default: stated creation times count
 * @throws {UsageError} for a cluster that is there twice, a zone that cannot be served, or an invalid grant or pin
 */
export function openOffline(
  snapshots: readonly ClusterSnapshot[],
  flags: OfflineFlags,
  remembered?: Remembered,
): AskOffline {
  const ids = snapshots.map(({ clusterId }) => clusterId);
  const twice = ids.find((clusterId, index) => ids.indexOf(clusterId) !== index);
  if (twice !== undefined) throw new UsageError(`two inputs have the cluster id ${JSON.stringify(twice)}`);
  const index = new ServiceIndex(remembered);
  const rules = { grants: grantsFor((flags.speaksFor ?? []).map(readGrant), ids), pins: readPins(flags) };
  const merged = new MergedServices(index, EVERYTHING, rules, Number.POSITIVE_INFINITY);
  for (const snapshot of snapshots) drain(index.join(snapshot.clusterId, heldSnapshot(snapshot)));
  drain(merged.settle());
  const zones = ["clusterset.local", ...(flags.zone ?? [])];
  const isNew = (zone: string, at: number) =>
    zones.findIndex((one) => canonicalZone(one) === canonicalZone(zone)) === at;
  const { generation, findings } = compileZones(clustersetOf(index, merged), { zones: zones.filter(isNew) });
  const listed = merged.list();
  const leases = new LeaseTables(() => Number.POSITIVE_INFINITY);
  const served = {
    ...{ generation, merged, explainer: SERVICE_EXPLAINER, conflicts: listed.conflicts },
    findings: [...listed.findings, ...findings],
  };
  const status = () => ({
    ...{ ready: true, rootHash: undefined, generationBytes: 0, services: merged.size, clusters: [] },
  });
  return ({ message }, cluster, isExplained) => {
    if (cluster !== undefined && !ids.includes(cluster))
      throw new UsageError(`--view ${JSON.stringify(cluster)} is not one of the clusters: ${ids.join(", ")}`);
    const answered = resolve(message, {
      ...{ generation, leases, now: 0, rotation: 0, view: cluster, outside: "refuse" },
    })!;
    const answer = renderJsonAnswer(
      answered.bytes,
      `seen from ${cluster ?? "outside"}; without a gateway every cluster counts as live`,
    );
    if (!isExplained) return { answer, explanation: undefined };
    const view = { cluster, isPrivate: false };
    const explanation = explainAnswer({ listed: () => served, status }, { view, isForwarded: false }, answer);
    // Without a gateway there are no leases.
    return { answer, explanation: jsonExplanation({ ...explanation, leases: [] }, answer, view, 0) };
  };
}
