import { DEFAULT_OUTSIDE_ORDER, type OwnAddresses } from "../../src/merge/addresses.ts";
import {
  ABSENT_CLUSTER,
  type ClusterFinding,
  type ClustersetService,
  type Conflict,
} from "../../src/merge/clusterset.ts";
import type { Contribution } from "../../src/merge/declaration.ts";
import { createPinTable, PINNED, type PinTable } from "../../src/merge/grants.ts";
import type { MergeOptions } from "../../src/merge/merge-key.ts";
import { compareText } from "../../src/merge/order.ts";
import { mergeService } from "../../src/merge/service.ts";
import type { ClusterSnapshot, ExportedService, ImportedService } from "../../src/snapshot/schema.ts";

/** All live clusters taken together. */
export interface Clusterset {
  /** Sorted by cluster id. */
  readonly clusters: readonly { readonly clusterId: string; readonly namespaces: ReadonlySet<string> }[];
  /** Sorted by namespace, then name. */
  readonly services: readonly ClustersetService[];
  readonly conflicts: readonly Conflict[];
  /** Sorted by cluster id, namespace, name, kind, reason. */
  readonly findings: readonly ClusterFinding[];
}

interface ServiceKey {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
}

interface Group {
  readonly service: ServiceKey;
  readonly contributions: Contribution[];
}

/** Merges snapshots as a whole, with nothing remembered in between: a slow model of the index. */
export function mergeWhole(
  snapshots: readonly ClusterSnapshot[],
  { outsideOrder = DEFAULT_OUTSIDE_ORDER, grants, pins }: MergeOptions = {},
  withAbsent = false,
): Clusterset {
  const live = [...snapshots].sort((left, right) => compareText(left.clusterId, right.clusterId));
  const findings = live.flatMap(({ clusterId, findings: own }) =>
    Object.values(own).map((finding) => ({ ...finding, clusterId })),
  );
  const groups = groupByService(live, findings, createPinTable(pins));
  const viewers = listViewers(live, withAbsent);
  const merged = [...groups.values()]
    .sort(
      ({ service: left }, { service: right }) =>
        compareText(left.namespace, right.namespace) || compareText(left.name, right.name),
    )
    .map(({ service: { namespace, name }, contributions }) =>
      mergeService(
        ...([namespace, name, contributions, viewers.get(namespace)!] as const),
        { outsideOrder, grants, zones: [] },
        ownAddressesOf(live, namespace, name),
      ),
    );
  return {
    clusters: live.map(({ clusterId, namespaces }) => ({
      clusterId,
      namespaces: new Set(Object.keys(namespaces)),
    })),
    services: merged.map(({ service }) => service),
    conflicts: merged.flatMap(({ conflicts }) => conflicts),
    findings: [...findings, ...merged.flatMap((one) => one.findings)].sort(compareFindings),
  };
}

function compareFindings(left: ClusterFinding, right: ClusterFinding): number {
  return (
    compareText(left.clusterId, right.clusterId) ||
    compareText(left.namespace ?? "", right.namespace ?? "") ||
    compareText(left.name, right.name) ||
    compareText(left.kind, right.kind) ||
    compareText(left.reason, right.reason) ||
    compareText(left.message, right.message)
  );
}

/**
 * Namespace sameness (KEP-1645, Terminology): objects of one namespaced name are one service. What
 * a cluster still holds under a namespace that it no longer has is gone with the namespace.
 */
function groupByService(
  live: readonly ClusterSnapshot[],
  findings: ClusterFinding[],
  pins: PinTable,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const { clusterId, namespaces, exports, imports } of live) {
    const contribute = (
      kind: string,
      key: string,
      exported?: ExportedService,
      reported?: ImportedService,
    ) => {
      const imported = reported?.managed === true ? undefined : reported;
      if (exported === undefined && imported === undefined) return;
      let group = groups.get(key);
      const service = group?.service ?? splitKey(key);
      if (!Object.hasOwn(namespaces, service.namespace)) {
        const { namespace, name } = service;
        const message = `namespace ${JSON.stringify(namespace)} does not exist in the cluster; it is left out`;
        findings.push({ clusterId, reason: "NoNamespace", kind, namespace, name, message });
        return;
      }
      if (exported !== undefined && !pins.mayExport(clusterId, key)) {
        const { namespace, name } = service;
        const message = `push.credentials[].exports does not let ${clusterId} export this service; its export is left out`;
        findings.push({ clusterId, reason: "ExportNotAllowed", kind, namespace, name, message });
        if (imported === undefined) return;
        exported = undefined;
      }
      if (group === undefined) {
        group = { service, contributions: [] };
        groups.set(key, group);
      }
      group.contributions.push({
        clusterId,
        exported,
        imported,
        adjusted: exported !== undefined && pins.ownerOf(key) === clusterId ? PINNED : undefined,
        importedSince: undefined,
      });
    };
    for (const key of Object.keys(exports))
      contribute("ServiceExport", key, exports[key], Object.hasOwn(imports, key) ? imports[key] : undefined);
    for (const key of Object.keys(imports))
      if (!Object.hasOwn(exports, key)) contribute("ServiceImport", key, undefined, imports[key]);
  }
  for (const [key, { service, contributions }] of groups) {
    const owner = pins.ownerOf(key);
    const exporters = contributions.filter(({ exported }) => exported !== undefined);
    if (owner === undefined || exporters.some(({ clusterId }) => clusterId === owner)) continue;
    for (const { clusterId } of exporters)
      findings.push({
        clusterId,
        reason: "OwnerNotExporting",
        kind: "ServiceExport",
        namespace: service.namespace,
        name: service.name,
        message:
          "the cluster that the setting services names as the owner does not export this service; the oldest export decides",
      });
  }
  return groups;
}

function splitKey(key: string): ServiceKey {
  const slash = key.indexOf("/");
  return { key, namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** By namespace, the clusters that have it: those that import its services (KEP-1645, Importing Services). */
function listViewers(live: readonly ClusterSnapshot[], withAbsent: boolean): Map<string, string[]> {
  const viewers = new Map<string, string[]>();
  for (const { clusterId, namespaces } of live) {
    for (const namespace of Object.keys(namespaces)) {
      const clusters = viewers.get(namespace);
      if (clusters === undefined) viewers.set(namespace, [clusterId]);
      else clusters.push(clusterId);
    }
  }
  if (withAbsent) for (const clusters of viewers.values()) clusters.push(ABSENT_CLUSTER);
  return viewers;
}

/** By cluster with the namespace, `spec.ips` of what its worker made from the desired state. */
function ownAddressesOf(live: readonly ClusterSnapshot[], namespace: string, name: string): OwnAddresses {
  const own = new Map<string, readonly string[]>();
  for (const { clusterId, namespaces, imports } of live) {
    const key = `${namespace}/${name}`;
    const imported = Object.hasOwn(imports, key) ? imports[key] : undefined;
    if (imported?.managed === true && Object.hasOwn(namespaces, namespace)) own.set(clusterId, imported.ips);
  }
  return own;
}
