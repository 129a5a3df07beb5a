import type { JsonExplanation } from "../../../http/explain.ts";
import type { JsonAnswer, JsonRecord } from "../../../http/json.ts";
import { nameOfCode, nameOfType } from "../../../http/pages/page.ts";
import type { QueryResult } from "./query-result.ts";

const SECTIONS = ["Answer", "Authority", "Additional"] as const;

/** An answer in the form of dig: comments begin with a semicolon, so that the rest is a zone file. */
export function answerLines({ answer, source }: QueryResult): string[] {
  const { name, type } = answer.Question[0]!;
  const lines = [
    `; ${nameOfCode(answer.Status)}${describeFlags(answer)}, from ${source}`,
    `;${name}\tIN\t${nameOfType(type)}`,
  ];
  for (const section of SECTIONS) {
    const records = answer[section] ?? [];
    if (records.length === 0) continue;
    if (section !== "Answer") lines.push(`; ${section.toLowerCase()}`);
    lines.push(...records.map(recordLine));
  }
  if (answer.Comment !== "") lines.push(`; ${answer.Comment}`);
  return lines;
}

function describeFlags({ TC, AD }: JsonAnswer): string {
  return `${TC ? ", truncated" : ""}${AD ? ", validated by DNSSEC" : ""}`;
}

function recordLine({ name, type, TTL, data }: JsonRecord): string {
  return `${name}\t${TTL}\tIN\t${nameOfType(type)}\t${data}`;
}

/** An explanation as comments of a zone file. */
export function explanationLines(explanation: JsonExplanation): string[] {
  const { code, message, records, recordCount, leases, service, conflicts, findings, suggestions, omitted } =
    explanation;
  const lines = [`${code}: ${message}`, `view: ${describeView(explanation)}`];
  for (const { type, data, from } of records)
    lines.push(`record ${type} ${data}: from ${from.length === 0 ? "the gateway" : from.join(", ")}`);
  if (recordCount > records.length) lines.push(`${recordCount - records.length} records more`);
  for (const { clusterId, expiresInSeconds } of leases)
    lines.push(
      expiresInSeconds === null
        ? `lease: ${clusterId} is not live`
        : `lease: ${clusterId} expires in ${expiresInSeconds} s unless its worker renews it`,
    );
  if (service !== undefined) {
    lines.push(
      `service: ${service.namespace}/${service.name}, ${service.type}; addresses: ${service.addresses}`,
    );
    for (const { clusterId, stated, countsFrom, because } of service.exporters)
      lines.push(
        `exported by ${clusterId} since ${stated}${countsFrom === undefined ? "" : `, counts from ${countsFrom}: ${because}`}`,
      );
    if (service.importers.length > 0) lines.push(`imported by ${service.importers.join(", ")}`);
    for (const { property, value, decidedBy, because, otherwise } of service.properties) {
      const others = otherwise.map(({ clusterId, value: theirs }) => `${clusterId}: ${theirs}`).join("; ");
      lines.push(
        `${property}: ${value}, decided by ${decidedBy ?? "the gateway"}: ${because}${others === "" ? "" : ` (set aside: ${others})`}`,
      );
    }
  }
  for (const conflict of conflicts) lines.push(`conflict: ${conflict.reason}: ${conflict.message}`);
  for (const finding of findings)
    lines.push(`finding: ${finding.clusterId}: ${finding.reason}: ${finding.message}`);
  for (const { name, because } of suggestions) lines.push(`did you mean ${name} (${because})`);
  lines.push(...omitted);
  return lines.map((line) => `; ${line}`);
}

function describeView({ view: { cluster, region, zone, byLocation } }: JsonExplanation): string {
  const near =
    region === undefined
      ? ""
      : `, near ${[zone, region].filter((place) => place !== undefined).join(" in ")}`;
  return `${cluster ?? "outside"}${near}${byLocation === true ? " (by location)" : ""}`;
}
