import { RecordType } from "../dns/codes.ts";
import { CLUSTERSET_TREE } from "../zone/tree-key.ts";
import { type Facts, type Verdict, verdict } from "./facts.ts";
import type { ServedName } from "./lease-groups.ts";
import { withSvc } from "./near/near-names.ts";
import type { ServiceExplainer } from "./service-explainer.ts";
import type { NamedService, Subject } from "./subject.ts";

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
