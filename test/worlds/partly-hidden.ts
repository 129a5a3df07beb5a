import fc from "fast-check";
import type { Visibility, VisibleAddressSource } from "../../src/merge/visibility.ts";
import type {
  ClusterSnapshot,
  EndpointGroups,
  ExportedService,
  ImportedService,
} from "../../src/snapshot/schema.ts";
import { alias } from "../conformance/cases/cluster-local.ts";
import { arbitrarySnapshot } from "./arbitrary.ts";

/** The clusters that scopes with clusters have; the others that there are do not exist in them. */
export const VISIBLE_CLUSTERS = ["east", "west"];
export const HIDDEN_CLUSTERS = ["north", "south.eu"];
const NAMESPACES = ["default", "shop", "shop-b"];
const RANGES = ["10.0.0.0/8", "192.0.2.0/24", "fd00::/8", "2001:db8::/32"];
const IN_RANGES = ["10.0.0.1", "10.0.0.2", "10.1.0.1", "192.0.2.7", "fd00::1", "2001:db8::2"];
const OUT_OF_RANGES = ["172.16.0.9", "9.255.255.255", "2001:db9::7", "11.0.0.0", "not-an-address"];
const TARGETS = ["lb.example.com"];
const HIDDEN_TARGETS = ["hidden.example.com", "notlb.example.com", "10.0.0.1", ""];
const SOURCES: readonly VisibleAddressSource[] = ["ClusterSetIP", "ClusterIP", "LoadBalancer", "Endpoint"];
const HIDDEN_SOURCES = ["north", "NORTH", "far", "", "east.eu"];

/** A scope with any of its parts, but for the view. */
export const arbitraryScope: fc.Arbitrary<Visibility> = fc
  .record({
    namespaces: fc.option(fc.constant(NAMESPACES), { nil: undefined }),
    clusters: fc.option(fc.constant([...VISIBLE_CLUSTERS, "not-there"]), { nil: undefined }),
    addressSources: fc.option(fc.subarray([...SOURCES]), { nil: undefined }),
    addressRanges: fc.option(fc.constant(RANGES), { nil: undefined }),
    targets: fc.option(fc.constantFrom(TARGETS, []), { nil: undefined }),
  })
  .filter((scope) => Object.values(scope).some((part) => part !== undefined));

/** What a cluster is where nothing is hidden, and what is left of it for the clients of the scope. */
export interface PartlyHidden {
  readonly visible: ClusterSnapshot;
  /** The same with hidden things beside the others, in two ways. */
  readonly full: readonly [ClusterSnapshot, ClusterSnapshot];
}

/** A cluster in which a scope hides something: visible things are made first, hidden ones put between. */
export function arbitraryPartlyHidden(clusterId: string, scope: Visibility): fc.Arbitrary<PartlyHidden> {
  const one = arbitrarySnapshot(fc.constant(clusterId));
  return fc.tuple(one, one, one).map(([made, hidden, otherHidden]) => {
    const visible = fitting(made, scope);
    return {
      visible,
      full: [between(visible, hidden, scope, 0), between(visible, otherHidden, scope, 1)],
    };
  });
}

/** A cluster that has nothing but what exists in the scope. */
function fitting(
  made: ClusterSnapshot,
  { clusters, addressSources, addressRanges, targets = addressRanges && [] }: Visibility,
): ClusterSnapshot {
  const has = (source: VisibleAddressSource) => addressSources?.includes(source) ?? true;
  const address = (text: string) =>
    addressRanges === undefined || IN_RANGES.includes(text) ? text : "10.0.0.9";
  const groups = (given: EndpointGroups): EndpointGroups =>
    mapValues(given, ({ ports, members }) => ({
      ports,
      members: has("Endpoint")
        ? mapValues(members, (member) => ({ ...member, address: address(member.address) }))
        : {},
    }));
  const source = (text: string) =>
    clusters === undefined || clusters.includes(text.toLowerCase()) ? text : made.clusterId;
  const isPartly = clusters !== undefined || addressSources !== undefined || targets !== undefined;
  const spellsAny = addressSources !== undefined || addressRanges !== undefined;
  return {
    ...made,
    exports: mapValues(made.exports, ({ clusterIPs, loadBalancer, externalIPs, nodes, ...exported }) => ({
      ...exported,
      ...(exported.clusters && {
        clusters: exported.clusters.filter((one) => clusters?.includes(one) !== false),
      }),
      ...(nodes && {
        nodes: { ...nodes, addresses: has("LoadBalancer") ? nodes.addresses.map(address) : [] },
      }),
      ...(has("ClusterIP") && clusterIPs !== undefined && { clusterIPs: clusterIPs.map(address) }),
      ...(has("LoadBalancer") && {
        loadBalancer: (loadBalancer ?? []).flatMap(({ ip, hostname }) => {
          if (!ip && targets?.includes(hostname ?? "") === false) return [];
          return {
            ...(ip !== undefined && { ip: address(ip) }),
            ...(hostname !== undefined && { hostname }),
          };
        }),
        externalIPs: (externalIPs ?? []).map(address),
      }),
      endpoints: groups(exported.endpoints),
    })),
    imports: Object.fromEntries(
      Object.entries(made.imports).map(([key, imported]) => {
        const reported = Object.entries(imported.endpoints).map(([from, each]) => [
          source(from),
          groups(each),
        ]);
        // An import that nobody exports or reports endpoints of might be there for a hidden cluster.
        const isExported =
          Object.hasOwn(made.exports, key) && Object.hasOwn(made.namespaces, key.split("/")[0]!);
        const endpoints: ImportedService["endpoints"] =
          reported.length > 0 || isExported || clusters === undefined
            ? Object.fromEntries(reported)
            : { [made.clusterId]: {} };
        return [key, { ...imported, ips: has("ClusterSetIP") ? imported.ips.map(address) : [], endpoints }];
      }),
    ),
    services: mapValues(made.services, ({ clusterIPs, ...local }) => ({
      ...local,
      ...(targets !== undefined &&
        local.serviceType === "ExternalName" &&
        (targets.length === 0 ? { serviceType: "ClusterIP" as const } : { externalName: targets[0]! })),
      ...(has("ClusterIP") && clusterIPs !== undefined && { clusterIPs: clusterIPs.map(address) }),
      endpoints: groups(local.endpoints),
    })),
    pods: has("Endpoint")
      ? mapKeys(made.pods, (key) => `${key.split("/")[0]}/${address(key.slice(key.indexOf("/") + 1))}`)
      : {},
    ...(made.clusterZone !== undefined && {
      clusterZone: {
        ...made.clusterZone,
        pods: spellsAny && made.clusterZone.pods === "insecure" ? "disabled" : made.clusterZone.pods,
      },
    }),
    findings: isPartly ? {} : made.findings,
  };
}

/** The cluster with hidden things between what it has. */
function between(
  visible: ClusterSnapshot,
  hidden: ClusterSnapshot,
  scope: Visibility,
  way: number,
): ClusterSnapshot {
  let full = visible;
  if (scope.addressRanges !== undefined || scope.addressSources !== undefined)
    full = withHiddenAddresses(full, scope, way);
  if (scope.addressRanges !== undefined || scope.targets !== undefined) full = withHiddenTargets(full, way);
  if (scope.clusters !== undefined) full = withHiddenSources(full, hidden, way);
  if (scope.namespaces !== undefined) full = withHiddenNamespaces(full, hidden);
  if (
    Object.keys(scope).some((part) => part !== "namespaces" && scope[part as keyof Visibility] !== undefined)
  )
    full = { ...full, findings: hidden.findings };
  return full;
}

function withHiddenAddresses(
  visible: ClusterSnapshot,
  { addressSources, addressRanges }: Visibility,
  way: number,
): ClusterSnapshot {
  let turn = way;
  const hidesSource = (source: VisibleAddressSource) => addressSources?.includes(source) === false;
  /** Some that do not exist when they come from there. */
  const some = (source: VisibleAddressSource): string[] => {
    const from = hidesSource(source)
      ? [...IN_RANGES, ...OUT_OF_RANGES]
      : addressRanges === undefined
        ? []
        : OUT_OF_RANGES;
    turn += 1;
    return from.length === 0
      ? []
      : [from[turn % from.length]!, from[(turn * 3) % from.length]!].slice(turn % 2);
  };
  const around = (source: VisibleAddressSource, list: readonly string[] = []) => [
    ...some(source),
    ...list,
    ...some(source),
  ];
  /** A Service has two at most. */
  const clusterIPs = (list: readonly string[] = []) => [...some("ClusterIP").slice(list.length), ...list];
  const groups = (given: EndpointGroups): EndpointGroups => {
    const put = (members: EndpointGroups[string]["members"]) => ({
      ...Object.fromEntries(
        some("Endpoint").map((address, index) => [`a${index}`, { address, hostname: "web-0" }]),
      ),
      ...members,
      ...Object.fromEntries(some("Endpoint").map((address, index) => [`z${index}`, { address }])),
    });
    return {
      "0hidden/TCP/1": { ports: [{ name: "hidden", protocol: "TCP", port: 1 }], members: put({}) },
      ...mapValues(given, (group) => ({ ...group, members: put(group.members) })),
    };
  };
  return {
    ...visible,
    exports: mapValues(visible.exports, (exported) => ({
      ...exported,
      clusterIPs: clusterIPs(exported.clusterIPs),
      loadBalancer: [
        ...some("LoadBalancer").map((ip) => ({ ip, hostname: "hidden.example.com" })),
        ...(exported.loadBalancer ?? []),
        ...(hidesSource("LoadBalancer") ? [{ hostname: "hidden.example.com" }] : []),
      ],
      externalIPs: around("LoadBalancer", exported.externalIPs),
      ...(exported.nodes && {
        nodes: { ...exported.nodes, addresses: around("LoadBalancer", exported.nodes.addresses) },
      }),
      endpoints: groups(exported.endpoints),
    })),
    imports: mapValues(visible.imports, (imported) => ({
      ...imported,
      ips: around("ClusterSetIP", imported.ips),
      endpoints: mapValues(imported.endpoints, groups),
    })),
    services: mapValues(visible.services, (local) => ({
      ...local,
      clusterIPs: clusterIPs(local.clusterIPs),
      endpoints: groups(local.endpoints),
    })),
    pods: {
      ...visible.pods,
      ...Object.fromEntries(some("Endpoint").map((address) => [`shop/${address}`, {}])),
    },
    ...(visible.clusterZone?.pods === "disabled" &&
      way === 0 && { clusterZone: { ...visible.clusterZone, pods: "insecure" } }),
  };
}

/** With load balancers and ExternalName Services that have host names which do not exist. */
function withHiddenTargets(visible: ClusterSnapshot, way: number): ClusterSnapshot {
  const hidden = (turn: number) => HIDDEN_TARGETS[(turn + way) % HIDDEN_TARGETS.length]!;
  const hiddenAlias = (turn: number) =>
    alias(hidden(turn), {
      createdAt: "2020-01-01T00:00:00Z",
      ...(turn === 2 && { ownedName: "web.owned" }),
    });
  let turn = way;
  return {
    ...visible,
    exports: mapValues(visible.exports, (exported): ExportedService => {
      turn++;
      const more = [{ hostname: hidden(turn) }, { ip: "", hostname: hidden(turn + 1) }];
      return { ...exported, loadBalancer: [more[0]!, ...(exported.loadBalancer ?? []), more[1]!] };
    }),
    services: {
      ...Object.fromEntries([0, 1, 2].map((one) => [`shop/hidden-${one}`, hiddenAlias(one)])),
      ...visible.services,
    },
  };
}

/** With endpoints of hidden clusters in what is imported, and imports that are there for those alone. */
function withHiddenSources(visible: ClusterSnapshot, hidden: ClusterSnapshot, way: number): ClusterSnapshot {
  const reported = Object.values(hidden.imports).flatMap(({ endpoints }) => Object.values(endpoints));
  const sources = (turn: number): ImportedService["endpoints"] =>
    Object.fromEntries(
      HIDDEN_SOURCES.filter((_, index) => (index + turn) % 2 === 0).map((source, index) => [
        source,
        reported[(index + turn) % Math.max(1, reported.length)] ?? {},
      ]),
    );
  let turn = way;
  const alone = Object.entries(hidden.imports).map(([key, imported]): [string, ImportedService] => [
    key.replace("/", "/far-"),
    { ...imported, endpoints: turn++ % 3 === 0 ? {} : sources(turn) },
  ]);
  return {
    ...visible,
    exports: mapValues(visible.exports, (exported) =>
      exported.clusters === undefined ? exported : { ...exported, clusters: [...exported.clusters, "far"] },
    ),
    imports: {
      ...Object.fromEntries(alone),
      ...mapValues(visible.imports, (imported) => ({
        ...imported,
        endpoints: { ...imported.endpoints, ...sources(turn++) },
      })),
    },
  };
}

/** With all that another cluster has in its namespaces, which get other names. */
function withHiddenNamespaces(visible: ClusterSnapshot, hidden: ClusterSnapshot): ClusterSnapshot {
  const rename = (key: string) => `hidden-${key}`;
  return {
    ...visible,
    namespaces: { ...mapKeys(hidden.namespaces, rename), ...visible.namespaces },
    exports: { ...mapKeys(hidden.exports, rename), ...visible.exports },
    imports: { ...mapKeys(hidden.imports, rename), ...visible.imports },
    services: { ...mapKeys(hidden.services, rename), ...visible.services },
    pods: { ...mapKeys(hidden.pods, rename), ...visible.pods },
    findings: {
      ...visible.findings,
      ...Object.fromEntries(
        Object.entries(hidden.findings).map(([key, finding]) => [
          `hidden-${key}`,
          { ...finding, namespace: `hidden-${finding.namespace}` },
        ]),
      ),
    },
  };
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function mapKeys<Value>(
  record: Readonly<Record<string, Value>>,
  map: (key: string) => string,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [map(key), value]));
}
