import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../../config/values.ts";
import { formatReverseName, hostOf, usableAddress } from "../../dns/address.ts";
import { finish } from "../../dns/steps.ts";
import { explain } from "../../explain/explain.ts";
import { SERVICE_EXPLAINER } from "../../explain/service.ts";
import { type JsonExplanation, jsonExplanation } from "../../http/explain.ts";
import { type JsonAnswer, readAnswer } from "../../http/json.ts";
import { readJsonQuestion } from "../../http/json-question.ts";
import { DNS_MESSAGE, JSON_TYPE } from "../../http/messages/message.ts";
import { nameOfCode, nameOfType } from "../../http/pages/page.ts";
import type { MergeOptions } from "../../merge/merge-key.ts";
import type { DatabaseEntries } from "../../names/database-entries.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import { type ListedRecord, listRecords } from "../../names/listing.ts";
import { Accounts } from "../../names/services.ts";
import { LeaseTables } from "../../resolve/record-writer.ts";
import { resolve } from "../../resolve/resolve.ts";
import { GatewayError } from "../../worker/gateway-error.ts";
import type { FederationOptions } from "../../zone/zone-plan.ts";
import { printable } from "../node/process.ts";
import { type PinFlags, readGrant, readPins } from "./flags.ts";
import { type ConnectionFlags, connectTo, requireServer } from "./gateway-connection.ts";
import {
  canonicalZone,
  checkView,
  entriesOf,
  openStateFolder,
  openWorld,
  readCheckInputs,
  rulesFor,
} from "./offline-world.ts";
import type { Output } from "./process.ts";
import { printReport, type ReportFlags, report } from "./report.ts";

/** Flags of `query` and `explain`. */
interface QueryFlags extends ConnectionFlags, PinFlags, ReportFlags {
  readonly manifests?: readonly string[] | undefined;
  readonly stateDir?: string | undefined;
  readonly view?: string | undefined;
  readonly zone?: readonly string[] | undefined;
  /** `CLUSTER=*` or `CLUSTER=CLUSTER,…` each. */
  readonly speaksFor?: readonly string[] | undefined;
  /** Of `explain`. */
  readonly explain?: boolean | undefined;
  readonly short?: boolean | undefined;
}

/**
 * 0: records, 1: SERVFAIL, REFUSED and other errors, or no records in manifests with problems, 3: no records.
 */
type QueryExitCode = 0 | 1 | 3;

/**
 * Looks a name up and prints the answer.
 * @throws {UsageError} for wrong flags, a malformed question, and inputs that cannot be read
 * @throws {GatewayError} if the gateway does not answer
 */
export async function query(
  name: string,
  type: string | undefined,
  flags: QueryFlags,
  output: Output,
): Promise<QueryExitCode> {
  const question = readQuestion(name, type);
  return report(
    async () => {
      const result = await lookUp(question, flags);
      const problems = result.problems?.map((problem) => `problem: ${problem}`);
      return { ...describeResult(result, flags), problems, exitCode: exitCodeOf(result) };
    },
    flags,
    output,
  );
}

function describeResult(result: QueryResult, flags: QueryFlags) {
  const { answer, explanation } = result;
  const isExplained = flags.explain === true && explanation !== undefined;
  const lines =
    flags.short === true
      ? (answer.Answer ?? []).map(({ data }) => data)
      : [...answerLines(result, flags), ...(isExplained ? explanationLines(explanation) : [])];
  return { value: { answer, explanation }, lines };
}

function exitCodeOf({ answer, problems = [] }: QueryResult): QueryExitCode {
  if (answer.Status !== 0 && answer.Status !== 3) return 1;
  if ((answer.Answer ?? []).length > 0) return 0;
  // What a broken manifest has is not known.
  return problems.length > 0 ? 1 : 3;
}

/** How long to wait between two queries, in milliseconds: answers of the gateway live for some seconds. */
const PAUSE = 1000;

/**
 * Waits until a gateway answers a name with records. Prints the answer, or why there is none when the time is
 * up; errors once as they happen.
 * @throws {UsageError} for wrong flags and a malformed question
 */
export async function waitFor(
  name: string,
  type: string | undefined,
  flags: QueryFlags & { readonly timeout: number },
  output: Output,
): Promise<0 | 1> {
  const { timeout } = flags;
  const server = requireServer(flags);
  const question = readQuestion(name, type);
  const deadline = performance.now() + timeout * 1000;
  let printed: string | undefined;
  for (;;) {
    const result = await askGateway(server, question, { ...flags, explain: true }).catch((error: unknown) => {
      if (error instanceof GatewayError) return error;
      throw error;
    });
    if (!(result instanceof Error) && (result.answer.Answer ?? []).length > 0) {
      printReport(describeResult(result, flags), flags, output);
      return 0;
    }
    const problem = result instanceof Error ? result.message : undefined;
    if (problem !== undefined && problem !== printed) output.err(problem);
    printed = problem;
    if (performance.now() + PAUSE >= deadline) {
      output.err(`${question.name} is not answered with records after ${timeout} s:`);
      const why = result instanceof Error ? [result.message] : explanationLines(result.explanation!);
      for (const line of why) output.err(line.replace(/^; /, ""));
      return 1;
    }
    await sleep(PAUSE);
  }
}

async function lookUp(question: QueryQuestion, flags: QueryFlags): Promise<QueryResult> {
  const { server, manifests = [], stateDir, zone = [], owner = [], exports = [], speaksFor = [] } = flags;
  const sources = [server !== undefined, manifests.length > 0, stateDir !== undefined];
  if (sources.filter(Boolean).length !== 1)
    throw new UsageError("name one source: --server, --manifests or --state-dir");
  if (server !== undefined) {
    for (const [flag, values] of Object.entries({ zone, owner, exports, "speaks-for": speaksFor }))
      if (values.length > 0)
        throw new UsageError(`--${flag} is for --manifests and --state-dir: a gateway has its own settings`);
    return askGateway(server, question, flags);
  }
  if (stateDir !== undefined) {
    const { entries, problems, close } = openStateFolder(stateDir);
    try {
      return { ...answerOffline(question, entries, flags), source: stateDir, problems };
    } finally {
      close();
    }
  }
  const inputs = await readCheckInputs(manifests, undefined, undefined);
  const entries = entriesOf(inputs.map(({ snapshot }) => snapshot));
  const problems = inputs.flatMap((input) => input.problems);
  return { ...answerOffline(question, entries, flags), source: manifests.join(", "), problems };
}

async function askGateway(
  server: string,
  { search, message }: QueryQuestion,
  flags: QueryFlags,
): Promise<QueryResult> {
  const connection = await connectTo(server, flags);
  const at = flags.view === undefined ? "" : `/clusters/${encodeURIComponent(flags.view)}`;
  try {
    const { body, milliseconds } = await connection.post(`${at}/dns-query`, DNS_MESSAGE, message);
    const answer = readAnswer(new Uint8Array(body), "");
    const explained = needsExplanation(flags)
      ? await connection.get(`${at}/explain?${search}`, JSON_TYPE)
      : undefined;
    const explanation = explained && (JSON.parse(explained.body.toString("utf8")) as JsonExplanation);
    // In wire format an answer has its Extended DNS Errors only.
    const Comment = explanation?.comment ?? answer.Comment.replace(/; $/, "");
    return { answer: { ...answer, Comment }, explanation, source: `${connection.name}, ${milliseconds} ms` };
  } finally {
    await connection.close();
  }
}

/** Whether records are printed with the clusters that report them. */
function needsExplanation({ explain: isWanted, output }: QueryFlags): boolean {
  return isWanted === true || output === "wide";
}

/**
 * A name as people write it: `web.shop` and `shop/web` are services, and a URL has a host. A dot at the end
 * makes it a whole name.
 */
export function nameFrom(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  const host = url === null ? undefined : hostOf(url);
  const name = host ?? text;
  const [, namespace, service] = /^([a-z0-9-]+)\/([a-z0-9-]+)$/i.exec(name) ?? [];
  if (namespace !== undefined) return `${service}.${namespace}.svc.clusterset.local`;
  const isService = host === undefined && /^[a-z0-9-]+\.[a-z0-9-]*[a-z][a-z0-9-]*$/i.test(name);
  return isService ? `${name}.svc.clusterset.local` : name;
}

function readQuestion(given: string, type: string | undefined): QueryQuestion {
  const name = nameFrom(given);
  const bytes = usableAddress(name);
  const queried = bytes === undefined ? name : formatReverseName(bytes);
  const search = new URLSearchParams({
    name: queried,
    type: type ?? (bytes === undefined ? "A" : "PTR"),
  }).toString();
  const question = readJsonQuestion(`?${search}`);
  if ("error" in question) throw new UsageError(question.error.replace("the parameter ", ""));
  return { name: queried, search, message: question.query };
}

const SECTIONS = ["Answer", "Authority", "Additional"] as const;

/** An answer in the form of dig: comments begin with a semicolon, so that the rest is a zone file. */
function answerLines({ answer, explanation, source }: QueryResult, { output }: ReportFlags): string[] {
  // An error may come without the question.
  const questions = answer.Question.map(({ name, type }) => `;${name}\tIN\t${nameOfType(type)}`);
  const lines = [`; ${nameOfCode(answer.Status)}${describeFlags(answer)}, from ${source}`, ...questions];
  for (const section of SECTIONS) {
    const records = answer[section] ?? [];
    if (records.length === 0) continue;
    if (section !== "Answer") lines.push(`; ${section.toLowerCase()}`);
    for (const { name, type, TTL, data } of records) {
      const line = `${name}\t${TTL}\tIN\t${nameOfType(type)}\t${data}`;
      const { from = [] } =
        explanation?.records.find((one) => one.type === nameOfType(type) && one.data === data) ?? {};
      lines.push(output === "wide" && from.length > 0 ? `${line} ; from ${from.join(", ")}` : line);
    }
  }
  if (answer.Comment !== "") lines.push(`; ${answer.Comment}`);
  return lines;
}

function describeFlags({ TC, AD }: JsonAnswer): string {
  return `${TC ? ", truncated" : ""}${AD ? ", validated by DNSSEC" : ""}`;
}

/** An explanation as comments of a zone file. */
function explanationLines(explanation: JsonExplanation): string[] {
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
    for (const { clusterId, stated, exportedTo, countsFrom, because } of service.exporters) {
      const to = exportedTo === undefined ? "" : ` to ${exportedTo.join(", ") || "itself alone"}`;
      const counts = countsFrom === undefined ? "" : `, counts from ${countsFrom}: ${because}`;
      lines.push(`exported by ${clusterId}${to} since ${stated}${counts}`);
    }
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
  return lines.map((line) => `; ${printable(line)}`);
}

function describeView({ view: { cluster, region, zone, byLocation } }: JsonExplanation): string {
  const near =
    region === undefined
      ? ""
      : `, near ${[zone, region].filter((place) => place !== undefined).join(" in ")}`;
  return `${cluster ?? "outside"}${near}${byLocation === true ? " (by location)" : ""}`;
}

/** The question in the parameters of the JSON form, and as a DNS message. */
interface QueryQuestion {
  readonly name: string;
  readonly search: string;
  readonly message: Uint8Array<ArrayBuffer>;
}

/** An answer, where it is from, and why it is what it is. */
interface QueryResult {
  readonly answer: JsonAnswer;
  /** Undefined where nothing printed needs it. */
  readonly explanation: JsonExplanation | undefined;
  /** `https://doh.example:8443, 12 ms`. */
  readonly source: string;
  /** Problems of the manifests: what they would have is not in the answer. */
  readonly problems?: readonly string[];
}

/**
 * Answers a question from what clusters reported, like a gateway in which every cluster is live.
 * @throws {UsageError} for a zone that cannot be served, an unknown cluster, or an invalid grant or pin
 */
function answerOffline(
  { message }: QueryQuestion,
  entries: DatabaseEntries,
  flags: QueryFlags,
): Omit<QueryResult, "source"> {
  const { zone = [], speaksFor = [], view } = flags;
  const rules = rulesFor(entries, speaksFor.map(readGrant), readPins(flags));
  const names = ["clusterset.local", ...zone];
  const isNew = (name: string, at: number) =>
    names.findIndex((one) => canonicalZone(one) === canonicalZone(name)) === at;
  const world = openWorld(entries, rules, { zones: names.filter(isNew) });
  checkView(entries, view);
  const leases = new LeaseTables(() => Number.POSITIVE_INFINITY);
  const answered = resolve(message, {
    world,
    leases,
    now: 0,
    rotation: 0,
    view,
    outside: "refuse",
  })!;
  const answer = readAnswer(
    answered.bytes,
    `seen from ${view ?? "outside"}; without a gateway every cluster counts as live`,
  );
  if (!needsExplanation(flags)) return { answer, explanation: undefined };
  const { name, type } = answer.Question[0]!;
  const steps = explain(
    {
      world,
      merged: { accounts: new Accounts(world), explainer: SERVICE_EXPLAINER },
      leaseOf: () => undefined,
    },
    { name, type, view, isForwarded: false, status: answer.Status, records: answer.Answer ?? [] },
  );
  // Without a gateway there are no leases.
  const json = jsonExplanation(
    { ...finish(steps), leases: [] },
    answer,
    { cluster: view, isPrivate: false },
    0,
  );
  return { answer, explanation: json };
}

/** A zone with its records in one view. */
export interface ListedZone {
  readonly kind: "clusterset" | "federation" | "cluster-local";
  /** With the trailing dot. */
  readonly zone: string;
  /** The cluster of the view; undefined for outside. */
  readonly view?: string | undefined;
  readonly records: readonly ListedRecord[];
}

/** The zones to compile, and those to list. */
export interface ZoneSelection {
  /**
   * The zones to list. A name of no other kind of zone is a name of the clusterset zone. If a name is of
   * another kind, only the named zones are listed; else all zones of the other kinds are listed, too.
   */
  readonly zones: readonly string[];
  /** The cluster id of the view; undefined for outside, which lists the own zones of all clusters. */
  readonly view: string | undefined;
  readonly federations: readonly FederationOptions[];
}

const DEFAULT_ZONES = ["clusterset.local"];

/**
 * Lists zones as the gateway serves them: the clusterset's, then the federations', then those of single
 * clusters.
 * @throws {UsageError} for zone names that cannot be served
 */
export function listZones(
  entries: DatabaseEntries,
  rules: MergeOptions,
  { zones, view, federations }: ZoneSelection,
): { readonly world: KeyWorld; readonly zones: ListedZone[] } {
  const federated = federations.flatMap(({ zone, domain }) => [zone, domain]);
  const federationNames = new Set(federated.flatMap((zone) => canonicalZone(zone) ?? []));
  const local = entries.clusters().flatMap(({ clusterId, zone }) => {
    const name = canonicalZone(zone?.name);
    return name === undefined || (view !== undefined && clusterId !== view) ? [] : { clusterId, name };
  });
  const others = new Set([...federationNames, ...local.map(({ name }) => name)]);
  const isOther = (zone: string) => others.has(canonicalZone(zone) ?? "");
  const ofClusterset = zones.filter((zone) => !isOther(zone));
  const named = new Set(zones.flatMap((zone) => canonicalZone(zone) ?? []));
  const isListed = (name: string) => !zones.some(isOther) || named.has(name);

  const served = ofClusterset.length > 0 ? ofClusterset : DEFAULT_ZONES;
  const world = openWorld(entries, rules, { zones: served, federations });
  const list = (kind: ListedZone["kind"], zone: string, view: string | undefined): ListedZone => ({
    kind,
    zone,
    view,
    records: [...listRecords(world, { zone, view })],
  });
  const clustersetNames = new Set(served.flatMap((zone) => canonicalZone(zone) ?? []));
  return {
    world,
    zones: [
      ...[...clustersetNames].filter(isListed).map((name) => list("clusterset", name, view)),
      ...[...federationNames].filter(isListed).map((name) => list("federation", name, view)),
      ...local
        .filter(({ clusterId, name }) => isListed(name) && isServed(world, name, clusterId))
        .map(({ clusterId, name }) => list("cluster-local", name, clusterId)),
    ],
  };
}

// A cluster's zone with a taken name is a finding and exists in no view.
function isServed({ frame }: KeyWorld, name: string, clusterId: string): boolean {
  const zone = frame.zones.find((one) => one.name === name);
  return zone?.treeByView.has(frame.viewOf(clusterId)) === true;
}
