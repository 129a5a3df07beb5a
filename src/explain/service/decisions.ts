import type { ServiceAccount } from "../../merge/account.ts";
import type { ClustersetService } from "../../merge/clusterset.ts";
import { PINNED } from "../../merge/pins.ts";
import { PROPERTIES } from "../../merge/service/conflicts.ts";
import { type AdjustedTime, type Contribution, inSeconds } from "../../merge/service/declaration.ts";
import { gatherEndpoints } from "../../merge/service/endpoints.ts";
import { describePort } from "../../merge/service/ports.ts";
import type { DeclaredService } from "../../merge/service/service.ts";
import type { ExplainedExporter, ExplainedProperty, ExplainedService } from "../explanation.ts";
import { addressesIn } from "./records.ts";

const ADJUSTED: Readonly<Record<NonNullable<AdjustedTime["because"]>, string>> = {
  impossible: "the stated time is before any ServiceExport could be",
  future: "the stated time was in the future",
  unseen: "the gateway did not see the export appear at the stated time",
};

/** The longest value that is shown, in UTF-16 code units: annotations may hold 256 KiB. */
const MOST_VALUE = 256;

/** A service, who decides which of its properties, and why. @param view the name of a view; undefined for outside */
export function explainService(
  service: ClustersetService,
  { parts, declared, likeOutside }: ServiceAccount,
  view: string | undefined,
): ExplainedService {
  const { namespace, name, type, exporters } = service;
  const partOf = new Map(parts.map((part) => [part.clusterId, part]));
  const endpoints = new Map<string, number>();
  for (const { clusterId } of gatherEndpoints(declared?.contributions ?? []))
    endpoints.set(clusterId, (endpoints.get(clusterId) ?? 0) + 1);
  return {
    ...{ namespace, name, type },
    exporters: exporters.map((clusterId) => ({
      ...explainExporter(partOf.get(clusterId)!),
      endpoints: endpoints.get(clusterId) ?? 0,
    })),
    importers: parts.flatMap(({ clusterId, imported }) => (imported === undefined ? [] : clusterId)),
    properties: declared === undefined ? [] : explainProperties(declared, partOf),
    addresses: describeAddresses(service, likeOutside, view),
  };
}

function explainExporter({
  clusterId,
  exported,
  adjusted,
}: Contribution): Omit<ExplainedExporter, "endpoints"> {
  const stated = exported?.exportedAt ?? "";
  if (adjusted === undefined) return { clusterId, stated };
  const because = adjusted.because === undefined ? "the clocks differ a little" : ADJUSTED[adjusted.because];
  return { clusterId, stated, countsFrom: inSeconds(adjusted.counts), because };
}

function explainProperties(
  { declarations, union, isExported, contributions }: DeclaredService,
  partOf: ReadonlyMap<string, Contribution>,
): ExplainedProperty[] {
  const winner = declarations[0]!;
  const isPinned = contributions.some(
    ({ clusterId, adjusted }) => clusterId === winner.clusterId && adjusted === PINNED,
  );
  const reason = (): string => {
    if (isPinned) return "the setting services names it as the owner";
    if (declarations.length === 1)
      return `it has the only ${isExported ? "ServiceExport" : "ServiceImport that counts"}`;
    if (!isExported) return "no cluster exports the service, and its ServiceImport was seen first";
    const first = explainExporter(partOf.get(winner.clusterId)!);
    return `it has the oldest ServiceExport, since ${first.countsFrom ?? first.stated}`;
  };
  const because = reason();
  const properties: ExplainedProperty[] = [];
  for (const { property, valueOf: read } of PROPERTIES) {
    const value = read(winner);
    if (value === undefined || value === "") continue;
    const otherwise = declarations.flatMap((other) => {
      const theirs = read(other) ?? value;
      return theirs === value ? [] : { clusterId: other.clusterId, value: shown(theirs) };
    });
    properties.push({ property, value: shown(value), decidedBy: winner.clusterId, because, otherwise });
  }
  for (const { port, winner: decidedBy, setAside } of union.united) {
    const isFirst = decidedBy === winner.clusterId;
    properties.push({
      ...{ property: "port", value: describePort(port), decidedBy },
      because: isFirst
        ? because
        : "ports are united, and clusters before it define no port of this name or number",
      otherwise: setAside.map((clusterId) => ({ clusterId, value: "another port of this name or number" })),
    });
  }
  return properties;
}

function describeAddresses(
  service: ClustersetService,
  likeOutside: readonly string[],
  view: string | undefined,
): string {
  if (service.type === "Headless") return "the ready endpoints of every exporting cluster";
  const { source, reportedBy } = addressesIn(service, likeOutside, view);
  const of = reportedBy.length === 0 ? "" : ` of ${reportedBy.join(", ")}`;
  switch (source) {
    case "ClusterSetIP":
      return `spec.ips of the ServiceImport${of}`;
    case "LoadBalancer":
      return `load balancers and external IPs${of}`;
    case "Endpoint":
      return `ready endpoints reported by ${reportedBy.join(", ")}`;
    default:
      return "none: no cluster reports an address that this view may use";
  }
}

function shown(value: string): string {
  return (value.length > MOST_VALUE ? `${value.slice(0, MOST_VALUE - 1)}…` : value).toWellFormed();
}
