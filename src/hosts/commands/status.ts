import type { StatusReport } from "../../http/cluster-state.ts";
import { JSON_TYPE } from "../../http/messages/message.ts";
import { counted } from "../../http/pages/page.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import { printable } from "../node/process.ts";
import { type ConnectionFlags, connectTo, requireServer } from "./gateway-connection.ts";
import type { CheckInput } from "./offline-world.ts";
import type { Output } from "./process.ts";
import { coloured, type ReportFlags, report } from "./report.ts";

/** Flags of `status`. */
interface StatusFlags extends ConnectionFlags, ReportFlags {
  /** Only `/readyz`, which needs no credential and which sync workers have, too. */
  readonly ready?: boolean | undefined;
}

/**
 * Prints the status of a gateway, or the readiness of a gateway or a sync worker.
 * @returns 0 if it is ready, else 1
 * @throws {UsageError} for wrong flags
 * @throws {GatewayError} if the gateway does not answer, or `/readyz` not with 200
 */
export async function status(flags: StatusFlags, output: Output): Promise<0 | 1> {
  const server = requireServer(flags);
  return report(
    async () => {
      const connection = await connectTo(server, flags);
      try {
        if (flags.ready === true) {
          const { body } = await connection.get("/readyz", "text/plain");
          const message = body.toString("utf8").trimEnd();
          return { value: { ready: true, message }, lines: [message], exitCode: 0 };
        }
        const { body } = await connection.get("/status", JSON_TYPE);
        const value = JSON.parse(body.toString("utf8")) as StatusReport;
        return { value, lines: statusLines(value, flags.output === "wide"), exitCode: value.ready ? 0 : 1 };
      } finally {
        await connection.close();
      }
    },
    flags,
    output,
  );
}

/**
 * A status as text, also that of a gateway of an older version, which names no cluster that was never seen: a
 * sentence, a table of clusters, then conflicts and findings.
 * @param isWide also the position in a shared log, and which clusters disagree
 */
export function statusLines(
  status: Omit<StatusReport, "neverSeen"> & Partial<Pick<StatusReport, "neverSeen">>,
  isWide = false,
): string[] {
  const { ready, stale, services, clusters, neverSeen = [], conflicts, findings } = status;
  const live = clusters.filter((cluster) => cluster.live).length;
  const { stdout } = process;
  const state = ready ? coloured("green", "ready", stdout) : coloured("red", "not ready", stdout);
  const first = `${state}: ${live} of ${counted(clusters.length + neverSeen.length, "cluster")} live, ${services === null ? "services not counted yet" : counted(services, "service")}`;
  const rows = clusters.map((cluster) => [
    cluster.clusterId,
    [cluster.live ? "live" : "withdrawn", ...cluster.degraded].join(", "),
    `${cluster.lastSeenSeconds} s ago`,
    cluster.live ? `in ${cluster.expiresInSeconds} s` : "-",
    String(cluster.exports ?? "-"),
    String(cluster.imports ?? "-"),
  ]);
  for (const clusterId of neverSeen) rows.push([clusterId, "never seen", "-", "-", "-", "-"]);
  const header = ["CLUSTER", "STATE", "LAST SEEN", "LEASE EXPIRES", "EXPORTS", "IMPORTS"];
  const [heading, ...lines] = table([header, ...rows]);
  const isWell = (row: number) => rows[row]![1] === "live";
  const position = isWide && status.position !== undefined ? [`position ${status.position}`] : [];
  return [
    [first, ...position, ...stale].join("; "),
    ...(rows.length === 0 ? [] : ["", heading!]),
    ...lines.map((line, row) => (isWell(row) ? line : coloured("yellow", line, stdout))),
    "",
    ...listLines("conflict", ready, conflicts, (conflict) => {
      const others = isWide ? ` (set aside: ${conflict.disagree.join(", ")})` : "";
      return describeConflict(conflict) + others;
    }),
    ...listLines("finding", ready, findings, (one) => `${one.clusterId}: ${describeFinding(one)}`),
  ];
}

function listLines<Entry>(
  noun: string,
  isReady: boolean,
  list: { readonly total: number; readonly entries: readonly Entry[] } | null,
  describe: (entry: Entry) => string,
): string[] {
  if (list === null) return [`${noun}s: ${isReady ? "not known to this gateway" : "known once it is ready"}`];
  const rest = list.total - list.entries.length;
  return [
    counted(list.total, noun),
    ...list.entries.map((entry) => `  ${printable(describe(entry))}`),
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
  const line = (colour: "yellow" | "red", word: string, text: string) =>
    `${coloured(colour, `${word}:`, process.stderr)} ${printable(text)}`;
  return [
    ...inputs.flatMap(({ problems }) => problems.map((problem) => line("red", "problem", problem))),
    ...findings.map((finding) => {
      const place = locateFinding(inputs, finding) ?? finding.clusterId;
      return line("yellow", "finding", `${place}: ${describeFinding(finding)}`);
    }),
    ...conflicts.map((conflict) => line("yellow", "conflict", describeConflict(conflict))),
  ];
}

type FindingText = Pick<ClusterFinding, "kind" | "namespace" | "name" | "reason" | "message">;

function describeFinding({ kind, namespace, name, reason, message }: FindingText): string {
  const object = namespace === undefined ? name : `${namespace}/${name}`;
  return `${kind} ${object}: ${reason}: ${message}`;
}

function describeConflict({ namespace, name, message }: Pick<Conflict, "namespace" | "name" | "message">) {
  return `${namespace}/${name}: ${message}`;
}

/** Counts as in `2 clusters, 1 service`. */
export function describeCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([noun, count]) => counted(count, noun))
    .join(", ");
}
