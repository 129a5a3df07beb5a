import { type FoldedName, labelText, RecordType, ResponseCode } from "../dns/name.ts";
import type { ServiceAccount } from "../merge/account.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { sizeOfService } from "../merge/service.ts";
import type { Accounts } from "../names/services.ts";
import { isInAnyZone } from "../resolve/in-zone.ts";
import { CLUSTERSET_TREE } from "../zone/name-tree.ts";
import type { World } from "../zone/world.ts";
import {
  clustersOfRecord,
  type ExplainedRecord,
  type Explanation,
  foldedName,
  type ServedName,
  servedName,
} from "./explanation.ts";
import { type Facts, type Verdict, verdict } from "./facts.ts";
import { type KnownNames, nearZones, withSvc } from "./near.ts";
import type { AnsweredQuestion } from "./question.ts";
import { type NamedService, readSubject, type Subject } from "./question.ts";
import type { ServiceExplainer } from "./service.ts";

/** What answers come from, as far as it exists for the client. */
export interface ExplainSource {
  readonly world: World;
  /** Absent on hosts that do not merge. */
  readonly accounts?: Accounts | undefined;
  /** Absent on hosts that do not merge; they need none. */
  readonly explainer?: ServiceExplainer | undefined;
  /** Unix milliseconds by the gateway's clock; undefined for a cluster that is not live. */
  readonly leaseOf: (clusterId: string) => number | undefined;
}

/** Ports, endpoints and addresses of a service that is explained record by record: one with 9000 took 236 ms on a busy machine. */
const MOST_SIZE = 5000;
/** Conflicts and findings of a name that are listed. */
const MOST_OBJECTIONS = 50;
/** Characters of what clusters report of a service with about as many: a larger one is not merged to be explained. */
const MOST_CHARACTERS = 1024 * 1024;
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
  const { world, explainer } = source;
  const accounts = explainer && source.accounts;
  const { frame } = world;
  const name = foldedName(question.name);
  const view = frame.viewOf(question.view);
  const nothing = { leases: [], conflicts: [], findings: [], suggestions: [], omitted: [] };
  if (question.isForwarded)
    return {
      ...nothing,
      code: "FORWARDED",
      records: question.records.map((record) => ({ ...record, from: [] })),
      message: "The name is out of zone: another name server answered.",
    };
  const known: KnownNames = { frame, view, accounts };
  const subject = readSubject(frame, name, view);
  if (subject === undefined && question.status !== ResponseCode.NOERROR)
    return {
      ...nothing,
      code: "OUT_OF_ZONE",
      records: [],
      message: isInAnyZone(frame, name)
        ? "The zone of this name exists only in the views of single clusters."
        : "The name is in none of the gateway's zones, and no service has it as the reverse name of an address.",
      suggestions: nearZones(labelsOf(name), known),
    };

  const service = subject?.service;
  const explained = accounts && service && explainedService(accounts, service.key);
  const { account, findings = [] } = explained ?? {};
  const records = recordsOf(source, question, subject, account, view);
  const clusters = new Set(
    question.records.flatMap((record) => clustersOfRecord(world, record.name, record.type, view)),
  );
  const verdict = judge(
    {
      question,
      subject,
      account,
      findings,
      known,
      isTooLarge: explained?.isTooLarge === true,
      served: subject && servedName(world, name, subject, view),
    },
    explainer,
  );
  return {
    ...verdict,
    service:
      account?.service === undefined
        ? undefined
        : explainer?.explainService(account.service, account, frame.viewName(view)),
    records,
    leases: [...clusters].sort().map((clusterId) => ({ clusterId, expiresAt: source.leaseOf(clusterId) })),
    conflicts: account?.conflicts.slice(0, MOST_OBJECTIONS) ?? [],
    findings: findings.slice(0, MOST_OBJECTIONS),
    omitted: accounts === undefined ? [NOT_MERGED] : explained?.isTooLarge ? [TOO_LARGE] : [],
  };
}

interface ExplainedAccount {
  readonly account?: ServiceAccount;
  readonly findings?: readonly ClusterFinding[];
  readonly isTooLarge: boolean;
}

function explainedService(accounts: Accounts, key: string): ExplainedAccount {
  if (accounts.charactersOf(key) > MOST_CHARACTERS) return { isTooLarge: true };
  const account = accounts.of(key);
  if (account.service !== undefined && sizeOfService(account.service) > MOST_SIZE)
    return { isTooLarge: true };
  return { account, findings: accounts.findingsOf(key), isTooLarge: false };
}

/** The records of the answer, with the clusters that report each of them. */
function recordsOf(
  source: ExplainSource,
  question: AnsweredQuestion,
  subject: Subject | undefined,
  account: ServiceAccount | undefined,
  view: number,
): readonly ExplainedRecord[] {
  const derived = derivedRecords(source, question.type, subject, account, view);
  const known = new Map(derived.map((record) => [record.data.toLowerCase(), record]));
  return question.records.map(({ name, type, data }) => ({
    name,
    type,
    data,
    from: known.get(data.toLowerCase())?.from ?? clustersOfRecord(source.world, name, type, view),
  }));
}

/** The records of a service's name as they follow from the merge; none of another name. */
export function derivedRecords(
  { world: { frame }, accounts, explainer }: ExplainSource,
  type: number,
  subject: Subject | undefined,
  account: ServiceAccount | undefined,
  view: number,
): readonly ExplainedRecord[] {
  if (subject?.key !== CLUSTERSET_TREE || subject.service === undefined) return [];
  if (account?.service === undefined || explainer === undefined || !SERVICE_TYPES.has(type)) return [];
  const { namespace, below } = subject.service;
  if (accounts?.isLacking(view, namespace)) return [];
  const zones = frame.zones.filter((zone) => frame.treeFor(zone, -1) === subject.tree);
  return explainer.recordsFrom(
    { ...account, service: account.service },
    { prefix: below.join("."), type, view: frame.viewName(view) },
    { name: subject.zone.name, shortestBytes: Math.min(...zones.map(({ wire }) => wire.length)) },
  );
}

function labelsOf(name: FoldedName): string[] {
  return Array.from({ length: name.labels }, (_, label) => labelText(name, label));
}

/** Judges an answer of a zone of the gateway. @param explainer undefined on hosts that do not merge */
export function judge(facts: Facts, explainer: ServiceExplainer | undefined): Verdict {
  const { question, subject, served } = facts;
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
  return judgeMissing(facts, subject.service, subject.zone.name, explainer);
}

function judgeExisting(
  { question, known, account }: Facts,
  { service, labels }: Subject,
  served: ServedName,
  explainer: ServiceExplainer | undefined,
): Verdict {
  const types = Object.entries(RecordType).flatMap(([type, number]) =>
    served.clustersOf(number) === undefined ? [] : type,
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

function judgeMissing(
  facts: Facts,
  service: NamedService,
  zone: string,
  explainer: ServiceExplainer | undefined,
): Verdict {
  const { known } = facts;
  const { accounts } = known;
  const { namespace, name } = service;
  if (accounts === undefined || explainer === undefined)
    return verdict("NO_SUCH_NAME", `No name ${name}.${namespace} is served with these labels before it.`);
  const near = () => explainer.nearServices(service, zone, known);
  const having = accounts.clustersWith(namespace);
  if (having.length === 0)
    return verdict("NO_NAMESPACE", `No live cluster has the namespace ${namespace}.`, near());
  if (accounts.isLacking(known.view, namespace)) {
    const cluster = known.frame.viewName(known.view);
    return verdict(
      "NAMESPACE_NOT_IN_VIEW",
      `The cluster of this view (${cluster}) does not have the namespace ${namespace}.`,
    );
  }
  if (facts.isTooLarge)
    return verdict("NO_SUCH_NAME", `No name ${name}.${namespace} is served with these labels before it.`);
  return explainer.judgeMissing(facts, service, having, near);
}
