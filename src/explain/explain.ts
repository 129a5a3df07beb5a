import { RecordType, ResponseCode } from "../dns/codes.ts";
import { type FoldedName, labelText } from "../dns/folded-name.ts";
import type { ServiceAccount } from "../merge/account.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { sizeOfService } from "../merge/service/size.ts";
import type { Accounts } from "../names/accounts.ts";
import { isInAnyZone } from "../resolve/names/find.ts";
import { CLUSTERSET_TREE } from "../zone/tree-key.ts";
import type { World } from "../zone/world.ts";
import type { ExplainedRecord, Explanation } from "./explanation.ts";
import { clustersOfRecord, foldedName, servedName } from "./lease-groups.ts";
import { type KnownNames, nearZones } from "./near/near-names.ts";
import type { AnsweredQuestion } from "./question.ts";
import type { ServiceExplainer } from "./service-explainer.ts";
import { readSubject, type Subject } from "./subject.ts";
import { judge } from "./verdict.ts";

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
