import type { Conflict, ServiceName } from "./clusterset.ts";
import type { Declaration } from "./declaration.ts";
import { describePort, type PortUnion } from "./endpoints.ts";
import { compareText } from "./order.ts";

/** The service that declarations are about, and where they come from. */
export interface ConflictSubject extends ServiceName {
  readonly declaredBy: "service export" | "service import";
  /** Whether the operator has named the first one as the owner. */
  readonly isPinned?: boolean;
}

/** A property that the first declaration decides alone. */
export interface Property {
  readonly property: string;
  /** Of a conflict. */
  readonly reason: string;
  /** The value as messages show it; undefined where a declaration has no say. */
  readonly valueOf: (declaration: Declaration) => string | undefined;
}

/** Longest value in a conflict, in UTF-16 code units: annotations may hold 256 KiB. */
const MAX_VALUE = 256;

// Reasons are those of the MCS API v0.5.2, ServiceExportConditionConflict.
/**
 * The properties that the first declaration decides alone: all but ports and IP families, which are united.
 */
export const PROPERTIES: readonly Property[] = [
  { property: "type", reason: "TypeConflict", valueOf: ({ type }) => type },
  {
    property: "sessionAffinity",
    reason: "SessionAffinityConflict",
    valueOf: ({ sessionAffinity }) => sessionAffinity,
  },
  {
    property: "sessionAffinityConfig.clientIP.timeoutSeconds",
    reason: "SessionAffinityConfigConflict",
    valueOf: ({ sessionAffinityTimeoutSeconds: seconds }) => seconds?.toString(),
  },
  {
    property: "internalTrafficPolicy",
    reason: "InternalTrafficPolicyConflict",
    valueOf: ({ internalTrafficPolicy }) => internalTrafficPolicy,
  },
  {
    property: "trafficDistribution",
    reason: "TrafficDistributionConflict",
    valueOf: ({ trafficDistribution }) => trafficDistribution,
  },
  { property: "exportedLabels", reason: "LabelsConflict", valueOf: ({ labels }) => listPairs(labels) },
  {
    property: "exportedAnnotations",
    reason: "AnnotationsConflict",
    valueOf: ({ annotations }) => listPairs(annotations),
  },
];

/**
 * Every disagreement between the declarations of one service, which come in order of precedence
 * (KEP-1645, Constraints and Conflict Resolution). The first declaration wins; ports and IP families
 * are united, and as the MCS API demands, declarations that differ there are conflicts all the same.
 */
export function findConflicts(
  subject: ConflictSubject,
  declarations: readonly Declaration[],
  ports: PortUnion,
): Conflict[] {
  if (declarations.length < 2) return [];
  const conflicts: Conflict[] = [];
  const total = declarations.length;
  const isExport = subject.declaredBy === "service export";
  const { namespace, name } = subject;
  const add = (
    { property, reason }: Omit<Property, "valueOf">,
    winner: string,
    value: string,
    disagree: readonly string[],
    united: boolean,
  ) => {
    if (disagree.length === 0) return;
    const shown = (value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE - 1)}…` : value).toWellFormed();
    const rank = subject.isPinned ? "pinned " : isExport ? "oldest " : "";
    const from = `${rank}${subject.declaredBy} in ${JSON.stringify(winner)}`;
    const using = united
      ? `Using the union ${JSON.stringify(shown)}, precedence to ${from}.`
      : `Using ${JSON.stringify(shown)} from ${from}.`;
    const message = `Conflicting ${property}. ${using} ${disagree.length}/${total} clusters disagree.`;
    conflicts.push({ namespace, name, reason, property, winner, value: shown, disagree, total, message });
  };

  for (const property of PROPERTIES) {
    const winner = declarations[0]!;
    const value = property.valueOf(winner);
    if (value === undefined) continue;
    const disagree = declarations.filter((other) => (property.valueOf(other) ?? value) !== value);
    add(property, winner.clusterId, value, clusterIds(disagree), false);
  }

  const port = { property: "port", reason: "PortConflict" };
  for (const { port: standing, winner, setAside } of ports.united)
    add(port, winner, describePort(standing), setAside, false);
  const union = ports.united.map((united) => describePort(united.port)).join(",");
  add({ ...port, property: "ports" }, declarations[0]!.clusterId, union, ports.differing, true);

  // Each family is served by those clusters only that have it, so a difference means that a client
  // reaches a part of the backends: the case for which the MCS API demands the condition.
  const withFamilies = declarations.filter(({ ipFamilies }) => ipFamilies.length > 0);
  if (withFamilies.length > 1) {
    const [oldest] = withFamilies as [Declaration];
    const disagree = withFamilies.filter(
      ({ ipFamilies }) => listFamilies(ipFamilies) !== listFamilies(oldest.ipFamilies),
    );
    const families = [...new Set(withFamilies.flatMap(({ ipFamilies }) => ipFamilies))].join(",");
    const property = { property: "ipFamilies", reason: "IPFamilyConflict" };
    add(property, oldest.clusterId, families, clusterIds(disagree), true);
  }
  return conflicts;
}

function clusterIds(declarations: readonly Declaration[]): string[] {
  return declarations.map(({ clusterId }) => clusterId);
}

/** Primary and secondary family are no disagreement: the set is compared. */
function listFamilies(families: readonly string[]): string {
  return [...new Set(families)].sort(compareText).join(",");
}

function listPairs(pairs: Readonly<Record<string, string>>): string {
  const keys = Object.keys(pairs).sort(compareText);
  return keys.map((key) => `${key}=${pairs[key]!}`).join(",");
}
