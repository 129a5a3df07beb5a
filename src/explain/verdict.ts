import { RecordType } from "../dns/codes.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { ServiceAccount } from "../merge/index/merged-services.ts";
import { CLUSTERSET_TREE } from "../zone/segment/tree-key.ts";
import type { Explanation, Suggestion } from "./explanation.ts";
import type { ServedName } from "./lease-groups.ts";
import { type KnownNames, nearPrefixes, nearServices, servicesIn, withSvc } from "./near/near-names.ts";
import type { AnsweredQuestion } from "./question.ts";
import { endpointPrefixes, portPrefixes } from "./service/records.ts";
import type { NamedService, Subject } from "./subject.ts";

/** What a verdict rests on. */
export interface Facts {
  readonly question: AnsweredQuestion;
  /** Undefined for reverse names. */
  readonly subject: Subject | undefined;
  /** Undefined for names of no service, and on hosts that do not merge. */
  readonly account: ServiceAccount | undefined;
  /** Those of the service. */
  readonly findings: readonly ClusterFinding[];
  readonly known: KnownNames;
  /** Its index. */
  readonly view: number;
  readonly served: ServedName | "missing" | undefined;
  readonly isMerged: boolean;
  /** The clusters that have a namespace. */
  readonly clustersWith: (namespace: string) => readonly string[];
}

/** What an answer is, in a word and a sentence, and what was perhaps meant. */
export type Verdict = Pick<Explanation, "code" | "message" | "suggestions">;

/** Judges an answer of a zone of the gateway. */
export function judge(facts: Facts): Verdict {
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
  if (served !== undefined) return judgeExisting(facts, subject, served);
  if (subject.service === undefined || subject.key !== CLUSTERSET_TREE) return judgeOther(facts, subject);
  return judgeMissing(facts, subject.service, subject.zone.name);
}

function judgeExisting(
  { question, known, account }: Facts,
  { service, labels }: Subject,
  served: ServedName,
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
  const suggestions = isNamespace ? servicesIn(labels[0]!, known) : [];
  return verdict("NO_RECORDS", "The name has no records of its own: names below it have.", suggestions);
}

function judgeOther({ known }: Facts, { key, labels, zone }: Subject): Verdict {
  const suggestions =
    key === CLUSTERSET_TREE
      ? withSvc(labels, zone.name, known).map(({ name, because }) => ({ name, because }))
      : [];
  return verdict("NO_SUCH_NAME", `The zone ${zone.name} does not have this name.`, suggestions);
}

function judgeMissing(facts: Facts, service: NamedService, zone: string): Verdict {
  const { known, view, account, findings, isMerged, clustersWith } = facts;
  const { namespace, name, below, key } = service;
  const { frame } = known;
  const near = () => nearServices(service, zone, known);
  if (frame.namespaceOf(namespace) < 0)
    return verdict("NO_NAMESPACE", `No live cluster has the namespace ${namespace}.`, near());
  if (frame.lacks(view, frame.namespaceOf(namespace))) {
    const cluster = frame.viewName(view);
    return verdict(
      "NAMESPACE_NOT_IN_VIEW",
      `The cluster of this view (${cluster}) does not have the namespace ${namespace}.`,
    );
  }
  if (!isMerged || (account === undefined && known.hasService(key)))
    return verdict("NO_SUCH_NAME", `No name ${name}.${namespace} is served with these labels before it.`);
  const merged = account?.service;
  if (merged !== undefined) {
    const own = `${name}.${namespace}.svc.${zone}`;
    if (merged.type === "Headless" && merged.endpoints.length === 0)
      return verdict(
        "NO_READY_ENDPOINT",
        "The service is headless and has no ready endpoint: until then it has no names.",
      );
    if (below.length === 0) return leftOut(findings);
    const prefix = below.join(".");
    return below[0]!.startsWith("_")
      ? verdict(
          "NO_SUCH_PORT",
          `The service has no port ${prefix}.`,
          nearPrefixes(prefix, portPrefixes(merged), own, "a port"),
        )
      : verdict(
          "NO_SUCH_ENDPOINT",
          `The service has no endpoint ${prefix}.`,
          nearPrefixes(prefix, endpointPrefixes(merged), own, "an endpoint"),
        );
  }
  if ((account?.parts.length ?? 0) > 0 || findings.length > 0) return leftOut(findings);
  const having = clustersWith(namespace);
  const where = having.length === 0 ? "" : ` (${having.slice(0, 10).join(", ")})`;
  return verdict(
    "NOT_EXPORTED",
    `The namespace ${namespace} exists${where}, but no cluster exports a service ${name} in it.`,
    near(),
  );
}

function leftOut(findings: readonly ClusterFinding[]): Verdict {
  const [first] = findings;
  const reason = first === undefined ? "" : ` ${first.reason} in ${first.clusterId}: ${first.message}.`;
  return verdict("LEFT_OUT", `A cluster reports the service, but it is not served.${reason}`);
}

function verdict(code: Verdict["code"], message: string, suggestions: readonly Suggestion[] = []): Verdict {
  return { code, message, suggestions };
}
