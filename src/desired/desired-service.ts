import type { ServiceAccount } from "../merge/account.ts";
import type { ClustersetService } from "../merge/clusterset.ts";
import type { DeclaredService } from "../merge/service/service.ts";
import type { DesiredImport } from "../snapshot/desired/desired-line.ts";
import type { Endpoint, ExportedService, ServicePort } from "../snapshot/schema.ts";
import { importPorts, lostPorts, type SlicePort, slicePorts } from "./ports.ts";
import { importAnnotations, importLabels, type NamedSlice, sliceEndpoints } from "./slices.ts";

/** By which addresses other clusters reach the endpoints of an exporter: those of pods, of its load balancers, or of its nodes. */
export type Reach = "pods" | "loadBalancers" | "nodes";

/** A slice of an exporter. */
export interface ExporterSlice extends NamedSlice {
  readonly cluster: string;
  /** The clusters that get it: all, the exporter alone, or all but the exporter. */
  readonly recipients: "all" | "itself" | "others";
}

/** What every cluster with the namespace should have of a service. */
export interface DesiredService {
  readonly import: DesiredImport;
  readonly slices: readonly ExporterSlice[];
}

const OBJECT_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The objects of a service in each importing cluster (KEP-1645, Importing Services): they follow from the merged service that queries are answered
 * from. Undefined where no cluster exports it: what importers report is in the clusters already.
 * @param reachOf by which addresses others reach an exporter's endpoints
 */
export function deriveService(
  { service, declared }: Pick<ServiceAccount, "service" | "declared">,
  reachOf: (clusterId: string) => Reach,
): DesiredService | undefined {
  if (service === undefined || declared === undefined || service.exporters.length === 0) return undefined;
  if (!OBJECT_NAME.test(service.name) || !OBJECT_NAME.test(service.namespace)) return undefined;
  const exports = new Map(
    declared.contributions.flatMap(({ clusterId, exported }) =>
      exported === undefined ? [] : [[clusterId, exported] as const],
    ),
  );
  const slices = service.exporters.flatMap((clusterId) =>
    slicesOf(clusterId, exports.get(clusterId)!, service, reachOf(clusterId)),
  );
  const { sessionAffinity, sessionAffinityTimeoutSeconds, internalTrafficPolicy, trafficDistribution } =
    service;
  return {
    import: {
      type: service.type,
      ports: importPorts(service),
      ipFamilies: familiesOf(declared, slices),
      ...(sessionAffinity !== undefined && { sessionAffinity }),
      ...(sessionAffinityTimeoutSeconds !== undefined && { sessionAffinityTimeoutSeconds }),
      ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
      ...(trafficDistribution !== undefined && { trafficDistribution }),
      labels: importLabels(service.labels),
      annotations: importAnnotations(service.annotations),
      clusters: [...service.exporters],
    },
    slices,
  };
}

type Family = DesiredImport["ipFamilies"][number];

/** The families of the exporters' Services, oldest export first; of an exporter that states none, those of its endpoints. */
function familiesOf({ declarations }: DeclaredService, slices: readonly ExporterSlice[]): Family[] {
  const families = declarations.flatMap(({ clusterId, ipFamilies }) =>
    ipFamilies.length > 0
      ? (ipFamilies as Family[])
      : slices.flatMap(({ cluster, desired }) => (cluster === clusterId ? desired.addressType : [])),
  );
  return [...new Set(families)];
}

function slicesOf(
  cluster: string,
  exported: ExportedService,
  { type, ports: union }: ClustersetService,
  reach: Reach,
): ExporterSlice[] {
  // SRV records of a headless service have the endpoints' own ports, so that none of them reaches another port.
  const lost = type === "Headless" ? NONE : lostPorts(exported.ports, union);
  const pods = slicePods(exported, union, lost);
  if (reach === "pods" || type === "Headless")
    return pods.map((slice) => ({ ...slice, cluster, recipients: "all" }));
  const others = (reach === "nodes" ? sliceNodes : sliceLoadBalancers)(exported, union, lost);
  return [
    ...pods.map((slice) => ({ ...slice, cluster, recipients: "itself" as const })),
    ...others.map((slice) => ({ ...slice, cluster, recipients: "others" as const })),
  ];
}

const NONE: ReadonlySet<string> = new Set();

/** Endpoints in groups by the ports that are left: two sets of ports may become one. */
function slicePods(
  { endpoints, publishNotReadyAddresses }: ExportedService,
  union: readonly ServicePort[],
  lost: ReadonlySet<string>,
): NamedSlice[] {
  const groups = new Map<
    string,
    { readonly ports: ReturnType<typeof slicePorts>; readonly members: Endpoint[] }
  >();
  for (const { ports: given, members } of Object.values(endpoints)) {
    const ports = slicePorts(given, union, lost);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, members: [] };
    groups.set(key, group);
    for (const member of Object.values(members))
      group.members.push(publishNotReadyAddresses === true ? { ...member, ready: true } : member);
  }
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, { ports, members }]) => sliceEndpoints(ports, members));
}

/** Addresses that listen on the ports of the Service itself. */
function sliceLoadBalancers(
  exported: ExportedService,
  union: readonly ServicePort[],
  lost: ReadonlySet<string>,
): NamedSlice[] {
  const { ports, loadBalancer = [], externalIPs = [] } = exported;
  const addresses = [...loadBalancer.flatMap(({ ip }) => ip || []), ...externalIPs];
  return sliceAddresses("lb", addresses, slicePorts(ports, union, lost), exported);
}

/** Addresses of nodes, which listen on the node ports of the Service. */
function sliceNodes(
  exported: ExportedService,
  union: readonly ServicePort[],
  lost: ReadonlySet<string>,
): NamedSlice[] {
  const { ports, addresses } = exported.nodes ?? NO_NODES;
  return sliceAddresses("node", addresses, slicePorts(ports, union, lost), exported);
}

const NO_NODES: NonNullable<ExportedService["nodes"]> = { ports: [], addresses: [] };

/** Addresses in front of the endpoints. They are ready while an endpoint behind them is. */
function sliceAddresses(
  prefix: string,
  addresses: readonly string[],
  ports: readonly SlicePort[],
  { endpoints }: ExportedService,
): NamedSlice[] {
  const isReady = Object.values(endpoints).some(({ members }) =>
    Object.values(members).some(({ ready }) => ready !== false),
  );
  return sliceEndpoints(
    ports,
    addresses.map((address) => ({ address, ...(isReady ? {} : { ready: false }) })),
  ).map(({ name, desired }) => ({ name: `${prefix}-${name}`, desired }));
}
