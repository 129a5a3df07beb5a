import { type CheckInput, readCheckInput } from "./check-input.ts";
import { type CheckReport, checkSnapshots } from "./check-report.ts";
import type { Output } from "./output.ts";
import { UsageError } from "./usage-error.ts";

/** Flags of `check`. */
export interface CheckFlags {
  readonly clusterId?: string | undefined;
  readonly zone?: readonly string[] | undefined;
  readonly view?: string | undefined;
  readonly format: "zone" | "json";
  readonly strict?: boolean | undefined;
}

/**
 * Prints the records that the inputs would be served as. The exit code: 0 when all that is exported is
 * served; 1 when there are problems or findings, or, with `--strict`, conflicts.
 * @throws {UsageError} where an input cannot be read at all; the command line makes that 2
 */
export async function check(inputs: readonly string[], flags: CheckFlags, output: Output): Promise<0 | 1> {
  if (flags.clusterId !== undefined && inputs.length > 1)
    throw new UsageError("--cluster-id names one cluster: give one input, or let the folders' names count");
  const read: CheckInput[] = [];
  for (const input of inputs) read.push(await readCheckInput(input, flags.clusterId));
  const report = checkSnapshots(
    read.map(({ snapshot }) => snapshot),
    { zones: flags.zone ?? ["clusterset.local"], view: flags.view },
  );
  const problems = read.flatMap((input) => input.problems);
  const locate = (finding: CheckReport["findings"][number]) =>
    read.find(({ snapshot }) => snapshot.clusterId === finding.clusterId)?.locate(finding);
  if (flags.format === "json") {
    const findings = report.findings.map((finding) => ({ ...finding, location: locate(finding) }));
    output.out(JSON.stringify({ ...report, findings, problems }, undefined, 2));
  } else {
    for (const { name, ttl, type, rdata } of report.records)
      output.out(`${name}\t${ttl}\tIN\t${type}\t${rdata}`);
    for (const line of describe(report, problems, locate)) output.err(line);
  }
  const conflicting = flags.strict === true && report.conflicts.length > 0;
  return problems.length > 0 || report.findings.length > 0 || conflicting ? 1 : 0;
}

function describe(
  report: CheckReport,
  problems: readonly string[],
  locate: (finding: CheckReport["findings"][number]) => string | undefined,
): string[] {
  const findings = report.findings.map((finding) => {
    const { clusterId, kind, namespace, name, reason, message } = finding;
    const object = namespace === undefined ? name : `${namespace}/${name}`;
    return `finding: ${locate(finding) ?? clusterId}: ${kind} ${object}: ${reason}: ${message}`;
  });
  const counts = [
    counted(report.clusters.length, "cluster"),
    counted(report.services, "service"),
    counted(report.records.length, "record"),
    counted(problems.length, "problem"),
    counted(findings.length, "finding"),
    counted(report.conflicts.length, "conflict"),
  ];
  return [
    ...problems.map((problem) => `problem: ${problem}`),
    ...findings,
    ...report.conflicts.map(({ namespace, name, message }) => `conflict: ${namespace}/${name}: ${message}`),
    counts.join(", "),
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
