import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { CheckInput } from "./check/check-input.ts";

/** The position of a finding's object, `file:line:column`; undefined for snapshots. */
export function locateFinding(inputs: readonly CheckInput[], finding: ClusterFinding): string | undefined {
  return inputs.find(({ snapshot }) => snapshot.clusterId === finding.clusterId)?.locate(finding);
}

/** Problems, findings and conflicts, one line each. */
export function describeObjections(
  inputs: readonly CheckInput[],
  findings: readonly ClusterFinding[],
  conflicts: readonly Conflict[],
): string[] {
  return [
    ...inputs.flatMap(({ problems }) => problems).map((problem) => `problem: ${problem}`),
    ...findings.map((finding) => {
      const { clusterId, kind, namespace, name, reason, message } = finding;
      const object = namespace === undefined ? name : `${namespace}/${name}`;
      return `finding: ${locateFinding(inputs, finding) ?? clusterId}: ${kind} ${object}: ${reason}: ${message}`;
    }),
    ...conflicts.map(({ namespace, name, message }) => `conflict: ${namespace}/${name}: ${message}`),
  ];
}

/** Counts as in `2 clusters, 1 service`. */
export function describeCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([noun, count]) => `${count} ${noun}${count === 1 ? "" : "s"}`)
    .join(", ");
}
