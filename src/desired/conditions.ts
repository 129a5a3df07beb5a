import type { ServiceAccount } from "../merge/account.ts";
import type { Conflict } from "../merge/clusterset.ts";
import type { DesiredCondition } from "../snapshot/desired-line.ts";
import type { ExportedService, Finding } from "../snapshot/schema.ts";
import type { Reach } from "./desired-service.ts";

/**
 * Reasons of findings with which a worker says that it can export nothing (KEP-1645, Service Types), as
 * reasons of the condition Valid.
 */
export const INVALID_REASONS = ["NoService", "InvalidServiceType"] as const;
export type InvalidReason = (typeof INVALID_REASONS)[number];

/** What is known of a ServiceExport of a cluster. */
interface ExportFacts extends Pick<ServiceAccount, "parts" | "declared"> {
  readonly clusterId: string;
  /** How others reach the cluster's endpoints. */
  readonly reach: Reach;
  /** Of the service. */
  readonly conflicts: readonly Conflict[];
  /** Why the worker can export nothing. */
  readonly invalid: (Pick<Finding, "message"> & { readonly reason: InvalidReason }) | undefined;
}

/** Characters of a message that an API server takes. */
const MOST_MESSAGE = 32768;
const MOST_CONFLICTS = 20;
const MOST_LISTED = 10;

/**
 * The conditions of a cluster's ServiceExport (KEP-1645, Exporting Services; reasons of the MCS API v0.5.2).
 * Undefined where the cluster has no such export. Each exporter of a service in conflict has the condition,
 * the one whose values count, too.
 */
export function deriveConditions(facts: ExportFacts): readonly DesiredCondition[] | undefined {
  const { clusterId, reach, parts, declared, conflicts, invalid } = facts;
  const isReported = parts.some((part) => part.clusterId === clusterId && part.exported !== undefined);
  if (!isReported && invalid === undefined) return undefined;
  const exported = declared?.contributions.find(
    (part) => part.clusterId === clusterId && part.exported !== undefined,
  )?.exported;
  const isExported = exported !== undefined;
  return [
    isReported || invalid === undefined
      ? condition("Valid", true, "Valid", "The Service exists and can be exported.")
      : condition("Valid", false, invalid.reason, sentence(invalid.message)),
    readiness(exported, reach, isReported, invalid?.reason),
    isExported && conflicts.length > 0
      ? condition("Conflict", true, reasonsOf(conflicts), describeConflicts(conflicts))
      : condition("Conflict", false, "NoConflicts", "All exporting clusters agree."),
  ];
}

function readiness(
  exported: ExportedService | undefined,
  reach: Reach,
  isReported: boolean,
  invalid: InvalidReason | undefined,
): DesiredCondition {
  const unreachable = exported && whyUnreachable(exported, reach);
  if (unreachable !== undefined) return unreachable;
  if (exported !== undefined)
    return condition("Ready", true, "Exported", "The service is exported to the clusterset.");
  if (isReported)
    return notReady(
      "The gateway leaves the export out: the namespace is unknown there, or push.credentials[].exports does not allow it.",
    );
  return invalid === "NoService"
    ? notReady("The export waits for its Service.", "Pending")
    : notReady("The Service cannot be exported.");
}

/**
 * Ready of an export that other clusters have no address for. Headless services have their pods' addresses.
 */
function whyUnreachable(
  { headless, serviceType, nodes, loadBalancer = [], externalIPs = [] }: ExportedService,
  reach: Reach,
): DesiredCondition | undefined {
  if (headless || reach === "pods") return undefined;
  if (reach === "nodes" && nodes === undefined)
    return notReady(
      "Other clusters reach this one by the addresses of its nodes, and the worker reports no node port of the Service: set the Service's type to NodePort, and run the worker with --node-addresses.",
    );
  if (reach === "nodes" && nodes?.addresses.length === 0)
    return notReady("The worker reports no address of a node of this cluster yet.", "Pending");
  if (reach === "nodes" || externalIPs.length > 0 || loadBalancer.some(({ ip }) => ip)) return undefined;
  const reached = "Other clusters reach this one by the addresses of load balancers, and the Service's";
  if (serviceType !== "LoadBalancer")
    return notReady(`${reached} type is ${serviceType}: set it to LoadBalancer.`);
  return loadBalancer.length > 0
    ? notReady(`${reached} load balancer has a host name and no address, and EndpointSlices need an address.`)
    : notReady(`${reached} load balancer has no address yet.`, "Pending");
}

function reasonsOf(conflicts: readonly Conflict[]): string {
  return [...new Set(conflicts.map(({ reason }) => reason))].join(",");
}

function describeConflicts(conflicts: readonly Conflict[]): string {
  const described = conflicts
    .slice(0, MOST_CONFLICTS)
    .map(({ message, disagree }) => `${message} Not as in ${listed(disagree)}.`);
  const more = conflicts.length > described.length ? ` And ${conflicts.length - described.length} more.` : "";
  return described.join(" ") + more;
}

function listed(clusters: readonly string[]): string {
  const shown = clusters.slice(0, MOST_LISTED).map((clusterId) => JSON.stringify(clusterId));
  const more = clusters.length > shown.length ? ` and ${clusters.length - shown.length} more` : "";
  return shown.join(", ") + more;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

function notReady(message: string, reason = "Failed"): DesiredCondition {
  return condition("Ready", false, reason, message);
}

function condition(
  type: DesiredCondition["type"],
  isTrue: boolean,
  reason: string,
  message: string,
): DesiredCondition {
  return { type, status: isTrue ? "True" : "False", reason, message: message.slice(0, MOST_MESSAGE) };
}
