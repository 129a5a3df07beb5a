import { JSON_TYPE } from "../../http/messages/fields.ts";
import type { StatusReport } from "../../http/metrics/status.ts";
import { counted } from "../../http/pages/page.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { CheckInput } from "./check-input.ts";
import { type ConnectionFlags, connectTo, requireServer } from "./gateway-connection.ts";
import type { Output } from "./process.ts";

/** Flags of `status`. */
interface StatusFlags extends ConnectionFlags {
  readonly json?: boolean | undefined;
}

/**
 * Prints the status of a gateway.
 * @returns 0 if it is ready, else 1
 * @throws {UsageError} for wrong flags
 * @throws {RequestFailed} if the gateway does not answer
 */
export async function status(flags: StatusFlags, output: Output): Promise<0 | 1> {
  const connection = await connectTo(requireServer(flags), flags);
  try {
    const { body } = await connection.get("/status", JSON_TYPE);
    const report = JSON.parse(body.toString("utf8")) as StatusReport;
    if (flags.json === true) output.out(JSON.stringify(report, undefined, 2));
    else for (const line of statusLines(report)) output.out(line);
    return report.ready ? 0 : 1;
  } finally {
    await connection.close();
  }
}

/** A status as text, also that of a gateway of an older version, which names no cluster that was never seen: a sentence, a table of clusters, then conflicts and findings. */
export function statusLines({
  ready,
  stale,
  services,
  clusters,
  neverSeen = [],
  conflicts,
  findings,
}: Omit<StatusReport, "neverSeen"> & Partial<Pick<StatusReport, "neverSeen">>): string[] {
  const live = clusters.filter((cluster) => cluster.live).length;
  const first = `${ready ? "ready" : "not ready"}: ${live} of ${counted(clusters.length + neverSeen.length, "cluster")} live, ${counted(services, "service")}`;
  const rows = clusters.map((cluster) => [
    cluster.clusterId,
    [cluster.live ? "live" : "withdrawn", ...cluster.degraded].join(", "),
    `${cluster.lastSeenSeconds} s ago`,
    cluster.live ? `in ${cluster.expiresInSeconds} s` : "-",
    String(cluster.exports),
    String(cluster.imports),
  ]);
  for (const clusterId of neverSeen) rows.push([clusterId, "never seen", "-", "-", "-", "-"]);
  return [
    [first, ...stale].join("; "),
    ...(rows.length === 0
      ? []
      : ["", ...table([["CLUSTER", "STATE", "LAST SEEN", "LEASE EXPIRES", "EXPORTS", "IMPORTS"], ...rows])]),
    "",
    ...listLines("conflict", conflicts, ({ namespace, name, message }) => `${namespace}/${name}: ${message}`),
    ...listLines("finding", findings, ({ clusterId, kind, namespace, name, reason, message }) => {
      const object = namespace === undefined ? name : `${namespace}/${name}`;
      return `${clusterId}: ${kind} ${object}: ${reason}: ${message}`;
    }),
  ];
}

function listLines<Entry>(
  noun: string,
  list: { readonly total: number; readonly entries: readonly Entry[] } | null,
  describe: (entry: Entry) => string,
): string[] {
  if (list === null) return [`${noun}s: not known to this gateway`];
  const rest = list.total - list.entries.length;
  return [
    counted(list.total, noun),
    ...list.entries.map((entry) => `  ${describe(entry)}`),
    ...(rest > 0 ? [`  ${rest} more`] : []),
  ];
}

/** Columns as wide as their longest cell. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

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
