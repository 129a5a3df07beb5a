import { bytesToHex } from "@noble/hashes/utils.js";
import { formatAddress, usableAddress } from "../dns/address.ts";
import type { ServiceAccount } from "../merge/account.ts";
import type { ClustersetService } from "../merge/clusterset.ts";
import type { DeclaredService } from "../merge/service.ts";
import {
  type DesiredImport,
  type DesiredSlice,
  isLabelValue,
  isQualifiedName,
  MOST_IMPORT_PORTS,
  servicePortNames,
} from "../snapshot/desired-line.ts";
import { encodeUtf8 } from "../snapshot/lines/json-syntax.ts";
import { sha256Of } from "../snapshot/parse.ts";
import type { Endpoint, EndpointPort, ExportedService, ServicePort } from "../snapshot/schema.ts";

/**
 * By which addresses other clusters reach the endpoints of an exporter: those of pods, of its load balancers,
 * or of its nodes.
 */
export type Reach = "pods" | "loadBalancers" | "nodes";

/** A slice of an exporter. */
interface ExporterSlice extends NamedSlice {
  readonly cluster: string;
  /** The clusters that get it: all, the exporter alone, or all but the exporter. */
  readonly recipients: "all" | "itself" | "others";
}

/** What every cluster with the namespace should have of a service. */
export interface DesiredService {
  readonly import: DesiredImport;
  readonly slices: readonly ExporterSlice[];
}

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * The objects of a service in each importing cluster (KEP-1645, Importing Services): they follow from the
 * merged service that queries are answered from. Undefined where no cluster exports it: what importers report
 * is in the clusters already.
 * @param reachOf by which addresses others reach an exporter's endpoints
 */
export function deriveService(
  { service, declared }: Pick<ServiceAccount, "service" | "declared">,
  reachOf: (clusterId: string) => Reach,
): DesiredService | undefined {
  if (service === undefined || declared === undefined || service.exporters.length === 0) return undefined;
  if (!LABEL.test(service.name) || !LABEL.test(service.namespace)) return undefined;
  const exports = new Map(
    declared.contributions.flatMap(({ clusterId, exported }) =>
      exported === undefined ? [] : [[clusterId, exported] as const],
    ),
  );
  const ports = importPorts(service);
  const isHeadless = service.type === "Headless";
  const slices = service.exporters.flatMap((clusterId) => {
    const exported = exports.get(clusterId)!;
    // SRV records of a headless service have the endpoints' own ports, so that none of them reaches another
    // port.
    const names = isHeadless ? OWN_NAMES : sliceNames(exported.ports, ports);
    const portsOf = (given: readonly EndpointPort[]) => slicePorts(given, ports, names);
    return slicesOf(clusterId, exported, portsOf, isHeadless ? "pods" : reachOf(clusterId));
  });
  return {
    import: {
      type: service.type,
      ports,
      ipFamilies: familiesOf(declared, slices),
      ...propertiesOf(service),
      labels: pick(service.labels, isLabelValue),
      annotations: pick(service.annotations, () => true),
      clusters: [...service.exporters],
    },
    slices,
  };
}

/**
 * A cluster may export any text, and an API server rejects a whole object for one value that it does not know
 * (422).
 */
const KNOWN_VALUES = {
  sessionAffinity: ["ClientIP", "None"],
  internalTrafficPolicy: ["Cluster", "Local"],
  trafficDistribution: ["PreferClose", "PreferSameZone", "PreferSameNode"],
} as const;
const LONGEST_AFFINITY_SECONDS = 86_400;

/**
 * The properties of a service with values that an API server takes. A time limit belongs to `ClientIP` alone.
 */
function propertiesOf(service: ClustersetService): Partial<DesiredImport> {
  const known = Object.entries(KNOWN_VALUES).flatMap(([name, values]) => {
    const value = service[name as keyof typeof KNOWN_VALUES];
    return (values as readonly (string | undefined)[]).includes(value) ? [[name, value]] : [];
  });
  const { sessionAffinity, sessionAffinityTimeoutSeconds: seconds } = service;
  const isLimited = sessionAffinity === "ClientIP" && seconds !== undefined;
  const isValid = isLimited && seconds >= 1 && seconds <= LONGEST_AFFINITY_SECONDS;
  return { ...Object.fromEntries(known), ...(isValid && { sessionAffinityTimeoutSeconds: seconds }) };
}

type Family = DesiredImport["ipFamilies"][number];

/**
 * The families of the exporters' Services, oldest export first; of an exporter that states none, those of its
 * endpoints.
 */
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
  portsOf: (ports: readonly EndpointPort[]) => SlicePort[],
  reach: Reach,
): ExporterSlice[] {
  const pods = slicePods(exported, portsOf);
  if (reach === "pods") return pods.map((slice) => ({ ...slice, cluster, recipients: "all" }));
  const { loadBalancer = [], externalIPs = [], nodes = NO_NODES } = exported;
  // Load balancers listen on the ports of the Service itself, nodes on its node ports.
  const others =
    reach === "nodes"
      ? sliceAddresses("node", nodes.addresses, portsOf(nodes.ports), exported)
      : sliceAddresses(
          "lb",
          [...loadBalancer.flatMap(({ ip }) => ip || []), ...externalIPs],
          portsOf(exported.ports),
          exported,
        );
  return [
    ...pods.map((slice) => ({ ...slice, cluster, recipients: "itself" as const })),
    ...others.map((slice) => ({ ...slice, cluster, recipients: "others" as const })),
  ];
}

const OWN_NAMES: ReadonlyMap<string, readonly string[]> = new Map();
const NO_NODES: NonNullable<ExportedService["nodes"]> = { ports: [], addresses: [] };

/** Endpoints in groups by the ports that are left: two sets of ports may become one. */
function slicePods(
  { endpoints, publishNotReadyAddresses }: ExportedService,
  portsOf: (ports: readonly EndpointPort[]) => SlicePort[],
): NamedSlice[] {
  const groups = new Map<string, { readonly ports: readonly SlicePort[]; readonly members: Endpoint[] }>();
  for (const { ports: given, members } of Object.values(endpoints)) {
    const ports = portsOf(given);
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

/** Addresses in front of the endpoints. They are ready while an endpoint behind them is. */
function sliceAddresses(
  prefix: string,
  addresses: readonly string[],
  ports: readonly SlicePort[],
  { endpoints, publishNotReadyAddresses }: ExportedService,
): NamedSlice[] {
  const isReady = Object.values(endpoints).some(({ members }) =>
    Object.values(members).some(({ ready }) => publishNotReadyAddresses === true || ready !== false),
  );
  return sliceEndpoints(
    ports,
    addresses.map((address) => ({ address, ...(isReady ? {} : { ready: false }) })),
  ).map(({ name, desired }) => ({ name: `${prefix}-${name}`, desired }));
}

/** A slice with its name within service and source cluster. */
export interface NamedSlice {
  readonly name: string;
  readonly desired: DesiredSlice;
}

/** Endpoints of a slice at most. */
const MOST_ENDPOINTS = 100;
/**
 * Bits of a hash in the name of a slice at most: enough for millions of endpoints. More in one place differ
 * by their order.
 */
const MOST_BITS = 16;

interface Placed {
  readonly endpoint: Endpoint;
  /** Address and host name: one endpoint of a slice. */
  readonly key: string;
  readonly hash: number;
}

/**
 * Endpoints of one exporter with the same ports, in slices. Which slice an endpoint is in follows from its
 * address and host name: a slice with too many is split by the next bit of their hash. So a changed endpoint
 * changes one slice, and equal endpoints give equal slices in whatever order they came. Addresses that no
 * EndpointSlice may hold are left out.
 */
function sliceEndpoints(ports: readonly SlicePort[], endpoints: Iterable<Endpoint>): NamedSlice[] {
  const byKey = { IPv4: new Map<string, Placed>(), IPv6: new Map<string, Placed>() };
  for (const given of endpoints) {
    const bytes = usableAddress(given.address);
    if (bytes === undefined || isSpecial(bytes)) continue;
    const endpoint = plain(given, formatAddress(bytes));
    const placed = byKey[bytes.length === 4 ? "IPv4" : "IPv6"];
    const key = `${endpoint.address}#${endpoint.hostname ?? ""}`;
    const before = placed.get(key);
    placed.set(key, {
      key,
      hash: before?.hash ?? hashOf(key),
      endpoint: before === undefined ? endpoint : unite(before.endpoint, endpoint),
    });
  }
  const portsHash = bytesToHex(sha256Of(encodeUtf8(JSON.stringify(ports))).subarray(0, 5));
  return (["IPv4", "IPv6"] as const).flatMap((addressType) => {
    const sorted = [...byKey[addressType].values()].sort((one, other) => (one.key < other.key ? -1 : 1));
    const name = `${addressType === "IPv4" ? "v4" : "v6"}-${portsHash}`;
    return [...split(sorted, name)].map(([slice, members]) => ({
      name: slice,
      desired: { addressType, ports: [...ports], endpoints: members.map(({ endpoint }) => endpoint) },
    }));
  });
}

function* split(
  sorted: readonly Placed[],
  name: string,
  bits = "",
): Generator<readonly [name: string, members: readonly Placed[]]> {
  if (sorted.length === 0) return;
  const own = bits === "" ? name : `${name}-${bits}`;
  if (sorted.length <= MOST_ENDPOINTS) yield [own, sorted];
  else if (bits.length < MOST_BITS)
    for (const bit of [0, 1])
      yield* split(
        sorted.filter(({ hash }) => ((hash >>> (31 - bits.length)) & 1) === bit),
        name,
        `${bits}${bit}`,
      );
  else
    for (let from = 0; from < sorted.length; from += MOST_ENDPOINTS)
      yield [`${own}-${from / MOST_ENDPOINTS}`, sorted.slice(from, from + MOST_ENDPOINTS)];
}

/**
 * An endpoint with the members that differ from the defaults, without a host name that an API server rejects.
 */
function plain({ hostname, ready, serving, terminating, zone }: Endpoint, address: string): Endpoint {
  return {
    address,
    ...(hostname !== undefined && LABEL.test(hostname) ? { hostname } : {}),
    ...(ready === false ? { ready } : {}),
    ...(serving === false ? { serving } : {}),
    ...(terminating === true ? { terminating } : {}),
    ...(zone ? { zone } : {}),
  };
}

/** While a pod moves between slices both have it: it is ready if it is ready in one of them. */
function unite(one: Endpoint, other: Endpoint): Endpoint {
  const zone = [one.zone, other.zone].filter((text) => text !== undefined).sort()[0];
  return plain(
    {
      ...one,
      ready: one.ready !== false || other.ready !== false,
      serving: one.serving !== false || other.serving !== false,
      terminating: one.terminating === true && other.terminating === true,
      zone,
    },
    one.address,
  );
}

/**
 * API servers reject slices with loopback, link-local and multicast addresses (discovery.k8s.io/v1,
 * validation).
 */
function isSpecial(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  if (bytes.length === 4)
    return first === 127 || (first === 169 && second === 254) || (first >= 224 && first < 240);
  const isLoopback = bytes[15] === 1 && bytes.subarray(0, 15).every((byte) => byte === 0);
  return isLoopback || first === 0xff || (first === 0xfe && (second & 0xc0) === 0x80);
}

/** 32 bits of a text, the first ones as even as the last ones: FNV-1a, then the last step of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Bytes of all annotations of an object that an API server takes; a fourth of it is left to others. Labels
 * have the same bound.
 */
const MOST_PAIR_BYTES = 192 * 1024;

/** What tells controllers and the dataplane how to treat an object: exports must not set it. */
const RESERVED =
  /^(?:(?:multicluster\.|endpointslice\.)?kubernetes\.io|multicluster\.x-k8s\.io|clusterset-doh\.dev)\/|^app\.kubernetes\.io\/managed-by$/;

type Pairs = Readonly<Record<string, string>>;

/**
 * The first exported labels or annotations by key that an API server takes, without those that controllers go
 * by.
 */
function pick(pairs: Pairs, isValid: (value: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {};
  let bytes = 0;
  for (const key of Object.keys(pairs).sort()) {
    const value = pairs[key]!;
    if (!isQualifiedName(key) || RESERVED.test(key) || !isValid(value)) continue;
    // UTF-8 takes at most three bytes for a UTF-16 code unit.
    bytes += 3 * (key.length + value.length);
    if (bytes > MOST_PAIR_BYTES) break;
    picked[key] = value;
  }
  return picked;
}

/** A port of a slice, as it is desired. */
type SlicePort = EndpointPort & { readonly appProtocol?: string };

const PROTOCOLS: ReadonlySet<string> = new Set(["TCP", "UDP", "SCTP"]);
const PORT_NAME = /^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)?$/;

/** Whether an API server takes a port: snapshots may hold others. */
function isUsable({ name, protocol, port }: EndpointPort): boolean {
  return PORT_NAME.test(name) && PROTOCOLS.has(protocol) && port >= 1 && port <= 65535;
}

function withProtocol<Port extends EndpointPort>(port: Port): Port {
  const protocol = port.protocol.toUpperCase() || "TCP";
  return protocol === port.protocol ? port : { ...port, protocol };
}

/**
 * The ports of a ServiceImport: the union, field by field, without what the youngest exports add to more than
 * a line takes.
 */
function importPorts({ ports }: Pick<ClustersetService, "ports">): ServicePort[] {
  return ports
    .filter(isUsable)
    .slice(0, MOST_IMPORT_PORTS)
    .map(({ name, protocol, port, appProtocol }) => ({
      name,
      protocol,
      port,
      ...(appProtocol && isQualifiedName(appProtocol) ? { appProtocol } : {}),
    }));
}

/**
 * By the names of an exporter's ports the names that its slices have for them: those of the union's port in
 * which they are, by number and protocol (KEP-1645, Service Port), so that no younger export's port takes
 * their endpoints away. kube-proxy goes by the name alone: there are none where the union has the name with
 * another number or protocol only, so that the exporter's endpoints do not get what is for that port.
 */
function sliceNames(
  exported: readonly ServicePort[],
  union: readonly ServicePort[],
): ReadonlyMap<string, readonly string[]> {
  const keyOf = ({ port, protocol }: EndpointPort) => `${port}/${protocol}`;
  const taken = new Set<string>();
  const byNumber = new Map<string, number>();
  const inService = servicePortNames(union);
  for (const [index, port] of union.entries()) {
    taken.add(inService[index]!).add(port.name);
    byNumber.set(keyOf(port), index);
  }
  const names = exported.map(withProtocol).map((own): [string, readonly string[]] => {
    const index = byNumber.get(keyOf(own));
    if (index === undefined) return [own.name, taken.has(own.name) ? [] : [own.name]];
    return [own.name, [union[index]!.name, inService[index]!]];
  });
  return new Map(names);
}

/**
 * The ports of a slice, sorted by name: usable ones, each name once, with the `appProtocol` of the union's
 * port.
 * @param names those that the slice's ports get in place of their own ones
 */
function slicePorts(
  ports: readonly EndpointPort[],
  union: readonly ServicePort[],
  names: ReadonlyMap<string, readonly string[]>,
): SlicePort[] {
  const byName = new Map<string, SlicePort>();
  for (const given of ports) {
    const { name: own, protocol, port } = withProtocol(given);
    const inSlice = names.get(own) ?? [own];
    const appProtocol = union.find(({ name }) => inSlice.includes(name))?.appProtocol;
    for (const name of inSlice)
      if (!byName.has(name) && isUsable({ name, protocol, port }))
        byName.set(name, { name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) });
  }
  return [...byName.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
