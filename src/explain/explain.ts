import { RecordType, ResponseCode } from "../dns/codes.ts";
import { type FoldedName, labelText } from "../dns/folded-name.ts";
import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { MergedServices, ServiceAccount } from "../merge/index/merged-services.ts";
import { isInAnyZone } from "../resolve/names/find.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { CLUSTERSET_TREE } from "../zone/segment/tree-key.ts";
import type { ExplainedRecord, Explanation } from "./explanation.ts";
import { clustersOfRecord, foldedName, servedName } from "./lease-groups.ts";
import { type KnownNames, nearZones } from "./near/near-names.ts";
import type { AnsweredQuestion } from "./question.ts";
import type { ServiceExplainer } from "./service-explainer.ts";
import { readSubject, type Subject } from "./subject.ts";
import { judge } from "./verdict.ts";

/** What answers come from, as far as it exists for the client. */
export interface ExplainSource {
  readonly generation: Generation;
  /** Absent on hosts that do not merge. */
  readonly merged?: MergedServices | undefined;
  /** Absent on hosts that do not merge; they need none. */
  readonly explainer?: ServiceExplainer | undefined;
  readonly conflicts?: readonly Conflict[] | undefined;
  readonly findings?: readonly ClusterFinding[] | undefined;
  /** Unix milliseconds by the gateway's clock; undefined for a cluster that is not live. */
  readonly leaseOf: (clusterId: string) => number | undefined;
}

/** Ports, endpoints and addresses of a service that is explained record by record: one with 9000 took 236 ms on a busy machine. */
const MOST_SIZE = 5000;
/** Conflicts and findings of a name that are listed. */
const MOST_OBJECTIONS = 50;
/** Records that a message of 65,535 bytes has in any case: with more, some may be left out of an answer. */
const SURELY_FIT = 1500;
/** The types that a service's names have. */
const SERVICE_TYPES: ReadonlySet<number> = new Set([RecordType.A, RecordType.AAAA, RecordType.SRV]);

const NOT_MERGED =
  "This host answers from compiled zones: who decides a service's properties, conflicts, findings and similar names are known to the primary.";
const TOO_LARGE = `The service has more than ${MOST_SIZE} ports, endpoints and addresses: it is not explained record by record.`;

/**
 * Explains an answer: which clusters its records come from and until when, who decides the service's properties, and what was perhaps meant where
 * there is no answer. Looks at nothing but the source.
 * @throws {NameError} for a malformed name
 */
export function explain(source: ExplainSource, question: AnsweredQuestion): Explanation {
  const { generation, explainer } = source;
  const merged = explainer && source.merged;
  const { frame } = generation;
  const name = foldedName(question.name);
  const view = frame.viewOf(question.view);
  const nothing = { leases: [], conflicts: [], findings: [], suggestions: [], omitted: [] };
  if (question.isForwarded)
    return {
      ...{
        ...nothing,
        code: "FORWARDED",
        records: question.records.map((record) => ({ ...record, from: [] })),
      },
      message: "The name is out of zone: another name server answered.",
    };
  const known: KnownNames = {
    ...{ frame, view, keys: merged?.keys() },
    hasService: (key) => merged?.sizeOf(key) !== undefined,
  };
  const subject = readSubject(frame, name, view);
  if (subject === undefined && question.status !== ResponseCode.NOERROR)
    return {
      ...{ ...nothing, code: "OUT_OF_ZONE", records: [] },
      message: isInAnyZone(frame, name)
        ? "The zone of this name exists only in the views of single clusters."
        : "The name is in none of the gateway's zones, and no service has it as the reverse name of an address.",
      suggestions: nearZones(labelsOf(name), known),
    };

  const account = accountOf(source, subject);
  const records = recordsOf(source, question, subject, account, view);
  const clusters = new Set(
    question.records.flatMap((record) => clustersOfRecord(generation, record.name, record.type, view)),
  );
  const isSubjects = (one: { readonly namespace?: string | undefined; readonly name: string }) =>
    one.namespace === subject?.service?.namespace && one.name === subject?.service?.name;
  const isService = subject?.service !== undefined;
  const findings = isService ? (source.findings?.filter(isSubjects) ?? []) : [];
  const verdict =
    records === "changing"
      ? ({
          code: "CHANGING",
          message: "A change is merged, but not in the answers yet: look again.",
          suggestions: [],
        } as const)
      : judge(
          {
            ...{ question, subject, account, findings, known, view },
            served: subject && servedName(generation, name, subject, view),
            isMerged: merged !== undefined,
            clustersWith: (namespace) => merged?.visible.viewers(namespace, false) ?? [],
          },
          explainer,
        );
  return {
    ...verdict,
    service:
      account === undefined || account.service === undefined
        ? undefined
        : explainer?.explainService(account.service, account, frame.viewName(view)),
    records: records === "changing" ? answered(source, question, view) : records,
    leases: [...clusters].sort().map((clusterId) => ({ clusterId, expiresAt: source.leaseOf(clusterId) })),
    conflicts: isService ? (source.conflicts?.filter(isSubjects).slice(0, MOST_OBJECTIONS) ?? []) : [],
    findings: findings.slice(0, MOST_OBJECTIONS),
    omitted: merged === undefined ? [NOT_MERGED] : isTooLarge(source, subject) ? [TOO_LARGE] : [],
  };
}

/** The records of the answer: of a service's name as they follow from the merge, of another name those of the answer. */
function recordsOf(
  source: ExplainSource,
  question: AnsweredQuestion,
  subject: Subject | undefined,
  account: ServiceAccount | undefined,
  view: number,
): readonly ExplainedRecord[] | "changing" {
  const service = account?.service;
  const { type } = question;
  const { explainer } = source;
  const isOfService = subject?.key === CLUSTERSET_TREE && subject.service !== undefined;
  if (
    !isOfService ||
    account === undefined ||
    explainer === undefined ||
    !SERVICE_TYPES.has(type) ||
    isTooLarge(source, subject)
  )
    return answered(source, question, view);
  const { frame } = source.generation;
  const { namespace, below } = subject.service;
  const isLacking = frame.lacks(view, frame.namespaceOf(namespace));
  const zones = frame.zones.filter((zone) => frame.treeFor(zone, -1) === subject.tree);
  const records: readonly ExplainedRecord[] =
    service === undefined || isLacking
      ? []
      : explainer.recordsFrom(
          { ...account, service },
          { prefix: below.join("."), type, view: frame.viewName(view) },
          { name: subject.zone.name, shortestBytes: Math.min(...zones.map(({ wire }) => wire.length)) },
        );
  return isSame(records, question.records) ? records : "changing";
}

function answered(
  { generation }: ExplainSource,
  { records }: AnsweredQuestion,
  view: number,
): readonly ExplainedRecord[] {
  return records.map(({ name, type, data }) => ({
    ...{ name, type, data },
    from: clustersOfRecord(generation, name, type, view),
  }));
}

function isSame(derived: readonly ExplainedRecord[], records: AnsweredQuestion["records"]): boolean {
  const known = new Set(derived.map(({ data }) => data.toLowerCase()));
  const isCut = records.length < derived.length && records.length >= SURELY_FIT;
  // Without the weight, which depends on how many records there are.
  return (
    (records.length === derived.length || isCut) && records.every(({ data }) => known.has(data.toLowerCase()))
  );
}

function accountOf(source: ExplainSource, subject: Subject | undefined): ServiceAccount | undefined {
  if (source.explainer === undefined) return undefined;
  if (subject?.service === undefined || isTooLarge(source, subject)) return undefined;
  return source.merged?.accountOf(subject.service.key);
}

function isTooLarge({ merged }: ExplainSource, subject: Subject | undefined): boolean {
  return subject?.service !== undefined && (merged?.sizeOf(subject.service.key) ?? 0) > MOST_SIZE;
}

function labelsOf(name: FoldedName): string[] {
  return Array.from({ length: name.labels }, (_, label) => labelText(name, label));
}
