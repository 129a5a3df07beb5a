import { RecordType, ResponseCode, startOfZone } from "../dns/name.ts";
import { endsStep, type Steps } from "../dns/steps.ts";
import type { Accounts } from "../names/services.ts";
import { CLUSTERSET_TREE } from "../zone/name-tree.ts";
import type { World } from "../zone/world.ts";
import {
  clustersOfRecord,
  type ExplainedRecord,
  type Explanation,
  foldedName,
  NOTHING,
  notServed,
  type ServedName,
  servedName,
  type Verdict,
  verdict,
} from "./explanation.ts";
import { type KnownNames, nearZones, withSvc } from "./near.ts";
import { type AnsweredQuestion, labelsOf, readSubject, type Subject } from "./question.ts";
import type { Facts, ServiceExplainer } from "./service.ts";

/** What answers come from, as far as it exists for the client. */
export interface ExplainSource {
  readonly world: World;
  /** Absent on hosts that do not merge. */
  readonly merged?:
    | { readonly accounts: Accounts; readonly explainer?: ServiceExplainer | undefined }
    | undefined;
  /** Unix milliseconds by the gateway's clock; undefined for a cluster that is not live. */
  readonly leaseOf: (clusterId: string) => number | undefined;
}

/** Conflicts and findings of a name that are listed. */
const MOST_OBJECTIONS = 50;
const NOT_MERGED =
  "This host answers from compiled zones: who decides a service's properties, conflicts, findings and similar names are known to the primary.";

/**
 * Explains an answer: which clusters its records come from and until when, who decides the service's
 * properties, and what was perhaps meant where there is no answer, in steps. Looks at nothing but the source.
 * @throws {NameError} for a malformed name
 */
export function* explain(source: ExplainSource, question: AnsweredQuestion): Steps<Explanation> {
  const { world, merged } = source;
  const explainer = merged?.explainer;
  const accounts = explainer && merged?.accounts;
  const { frame } = world;
  const name = foldedName(question.name);
  const view = frame.viewOf(question.view);
  if (question.isForwarded)
    return {
      ...NOTHING,
      code: "FORWARDED",
      records: question.records.map((record) => ({ ...record, from: [] })),
      message: "The name is out of zone: queries for it are forwarded.",
    };
  const known: KnownNames = { frame, view, accounts };
  const subject = readSubject(frame, name, view);
  if (subject === undefined && question.status !== ResponseCode.NOERROR)
    return {
      ...NOTHING,
      code: "OUT_OF_ZONE",
      records: [],
      message: frame.zones.some((zone) => startOfZone(name, zone) >= 0)
        ? "The zone of this name exists only in the views of single clusters."
        : "The name is in none of the gateway's zones, and no service has it as the reverse name of an address.",
      suggestions: nearZones(labelsOf(name, name.labels), known),
    };

  const service = subject?.service;
  const viewName = frame.viewName(view);
  const explained =
    accounts && service && explainer && (yield* explainer.accountOf(accounts, service.key, viewName));
  const { account, findings = [], omitted = [] } = explained ?? {};
  const reportersOf = account && subject && explainer?.reportersOf(account, subject, question.type, viewName);
  yield;
  const clusters = new Set<string>();
  const records: ExplainedRecord[] = [];
  const clustersOfSet = new Map<string, readonly string[]>();
  for (const [index, { name, type, data }] of question.records.entries()) {
    if (endsStep(index)) yield;
    const id = `${name} ${type}`;
    const dependsOn = clustersOfSet.get(id) ?? clustersOfRecord(world, name, type, view);
    clustersOfSet.set(id, dependsOn);
    for (const clusterId of dependsOn) clusters.add(clusterId);
    records.push({ name, type, data, from: reportersOf?.({ type, data }) ?? dependsOn });
  }
  const served = subject && servedName(world, name, subject, view);
  return {
    ...judge(
      { question, subject, account, findings, known, isTooLarge: omitted.length > 0, served },
      explainer,
    ),
    service: account && explainer?.explainService(account, viewName),
    records,
    leases: [...clusters].sort().map((clusterId) => ({ clusterId, expiresAt: source.leaseOf(clusterId) })),
    conflicts: account?.conflicts.slice(0, MOST_OBJECTIONS) ?? [],
    findings: findings.slice(0, MOST_OBJECTIONS),
    omitted: accounts === undefined ? [NOT_MERGED] : omitted,
  };
}

/** Judges an answer of a zone of the gateway. @param explainer undefined on hosts that do not merge */
function judge(facts: Facts, explainer: ServiceExplainer | undefined): Verdict {
  const { question, subject, served, known } = facts;
  const count = question.records.length;
  if (count > 0)
    return verdict(
      "ANSWERED",
      `The name exists: ${count} ${count === 1 ? "record" : "records"} of this type.`,
    );
  if (subject === undefined)
    return verdict("NO_RECORDS_OF_TYPE", "The reverse name of an address has a PTR record only.");
  if (served === "missing") return verdict("NO_SUCH_NAME", "This host does not have the name in memory.");
  if (served !== undefined) return judgeExisting(facts, subject, served, explainer);
  if (subject.service === undefined || subject.key !== CLUSTERSET_TREE) return judgeOther(facts, subject);
  if (known.accounts !== undefined && explainer !== undefined)
    return explainer.judgeMissing(facts, subject.service, known.accounts);
  return notServed(subject.service);
}

function judgeExisting(
  { question, known, account }: Facts,
  { service, labels }: Subject,
  served: ServedName,
  explainer: ServiceExplainer | undefined,
): Verdict {
  const types = Object.entries(RecordType).flatMap(([type, number]) =>
    served(number) === undefined ? [] : type,
  );
  const isPort = service !== undefined && service.below.length === 2 && service.below[0]!.startsWith("_");
  if (isPort && question.type !== RecordType.SRV)
    return verdict(
      "PORT_HAS_SRV_ONLY",
      "The name of a port has SRV records only; addresses are at the service's name.",
      [
        {
          name: question.name.split(".").slice(2).join("."),
          because: "the service's name has the addresses",
        },
      ],
    );
  if (types.length > 0)
    return verdict(
      "NO_RECORDS_OF_TYPE",
      `The name exists, without records of this type. It has ${types.join(", ")}.`,
    );
  if (service !== undefined && service.below.length === 0 && account?.service?.type === "ClusterSetIP")
    return verdict(
      "NO_ADDRESS",
      "The service exists, but no cluster reports an address of it that this view may use.",
    );
  if (labels.length === 0)
    return verdict("NO_RECORDS_OF_TYPE", "This is the name of a zone. It has SOA and NS records.");
  const isNamespace = labels.length === 2 && labels[1] === "svc";
  const suggestions = isNamespace ? (explainer?.servicesIn(labels[0]!, known) ?? []) : [];
  return verdict("NO_RECORDS", "The name has no records of its own: names below it have.", suggestions);
}

function judgeOther({ known }: Facts, { key, labels, zone }: Subject): Verdict {
  const suggestions =
    key === CLUSTERSET_TREE
      ? withSvc(labels, zone.name, known).map(({ name, because }) => ({ name, because }))
      : [];
  return verdict("NO_SUCH_NAME", `The zone ${zone.name} does not have this name.`, suggestions);
}
