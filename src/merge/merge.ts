import type { ClusterSnapshot, ExportedService, ImportedService } from "../snapshot/schema.ts";
import { type AddressSource, DEFAULT_OUTSIDE_ORDER } from "./addresses.ts";
import { ABSENT_CLUSTER, type ClusterFinding, type Clusterset } from "./clusterset.ts";
import type { Contribution, SetBack } from "./declaration.ts";
import type { Grants } from "./grants.ts";
import { listLocalZones } from "./local-zones.ts";
import { compareText } from "./order.ts";
import { createPinTable, PINNED, type Pins, type PinTable } from "./pins.ts";
import { type MergedService, mergeService } from "./service.ts";

export type { AddressSource } from "./addresses.ts";

/** How addresses for outside askers are chosen. */
export interface MergeOptions {
  /** The first source from which the oldest export with an address has one counts. Default: ClusterSetIP, LoadBalancer, Endpoint. */
  readonly outsideOrder?: readonly AddressSource[];
  /** For which other clusters importers speak. Default: each for all. */
  readonly grants?: Grants;
  /** What clusters may export, and whose export decides. Default: anything, and the oldest. */
  readonly pins?: Pins | undefined;
}

/** What is remembered of when clusters told of services first, by `<namespace>/<name>`. */
export interface Remembered {
  /** The exports of a cluster whose told creation time does not count. */
  setBack(clusterId: string): ReadonlyMap<string, SetBack> | undefined;
  /** When what a cluster imports was heard of first, in Unix milliseconds. */
  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined;
}

/**
 * Merges live snapshots, at most one of each cluster, in any order. Default: what clusters tell of creation times counts. `withAbsent` adds the
 * view of clusters that are not live.
 */
export type Merger = (
  snapshots: readonly ClusterSnapshot[],
  remembered?: Remembered,
  withAbsent?: boolean,
) => Clusterset;

interface ServiceKey {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
}

interface Group {
  readonly service: ServiceKey;
  readonly contributions: Contribution[];
}

interface Memo {
  readonly contributions: readonly Contribution[];
  readonly viewers: readonly string[];
  readonly merged: MergedService;
}

/** The clusterset that the snapshots make up by KEP-1645. */
export function mergeClusterset(snapshots: readonly ClusterSnapshot[], options?: MergeOptions): Clusterset {
  return createMerger(options)(snapshots);
}

/**
 * A merger that remembers its last result: a service whose exports and imports are the same objects as
 * before, under the same clusters, is taken over as it is. Snapshots are taken as immutable.
 */
export function createMerger({
  outsideOrder = DEFAULT_OUTSIDE_ORDER,
  grants,
  pins,
}: MergeOptions = {}): Merger {
  const table = createPinTable(pins);
  let memos = new Map<string, Memo>();
  let sorted: readonly ServiceKey[] = [];

  return (snapshots, remembered, withAbsent = false) => {
    const live = [...snapshots].sort((left, right) => compareText(left.clusterId, right.clusterId));
    const findings = live.flatMap(({ clusterId, findings: own }) =>
      Object.values(own).map((finding) => ({ ...finding, clusterId })),
    );
    const groups = groupByService(live, findings, remembered, table);
    const viewers = listViewers(live, withAbsent);
    const next = new Map<string, Memo>();
    for (const [key, { service, contributions }] of groups) {
      const views = viewers.get(service.namespace)!;
      const memo = memos.get(key);
      next.set(
        key,
        memo !== undefined && isCurrent(memo, contributions, views)
          ? memo
          : {
              contributions,
              viewers: views,
              merged: mergeService(
                service.namespace,
                service.name,
                contributions,
                views,
                outsideOrder,
                grants,
              ),
            },
      );
    }
    if (sorted.length !== next.size || !sorted.every(({ key }) => next.has(key))) {
      sorted = Array.from(groups.values(), ({ service }) => service).sort(
        (left, right) => compareText(left.namespace, right.namespace) || compareText(left.name, right.name),
      );
    }
    memos = next;
    const merged = sorted.map(({ key }) => next.get(key)!.merged);
    return {
      clusters: live.map(({ clusterId, namespaces, topology }) => ({
        clusterId,
        namespaces: new Set(Object.keys(namespaces)),
        ...(topology?.region === undefined ? {} : { region: topology.region }),
        zones: [...(topology?.zones ?? [])].sort(compareText),
      })),
      ...(withAbsent && { withAbsent }),
      services: merged.map(({ service }) => service),
      localZones: listLocalZones(live),
      conflicts: merged.flatMap(({ conflicts }) => conflicts),
      findings: [...findings, ...merged.flatMap((one) => one.findings)].sort(compareFindings),
    };
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
  remembered: Remembered | undefined,
  pins: PinTable,
): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const { clusterId, namespaces, exports, imports } of live) {
    const instead = remembered?.setBack(clusterId);
    const heard = remembered?.importedSince(clusterId);
    const contribute = (
      kind: string,
      key: string,
      exported?: ExportedService,
      imported?: ImportedService,
    ) => {
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
        setBack:
          exported === undefined ? undefined : pins.ownerOf(key) === clusterId ? PINNED : instead?.get(key),
        importedSince: imported === undefined ? undefined : heard?.get(key),
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
        ...{ clusterId, reason: "OwnerNotExporting", kind: "ServiceExport" },
        ...{ namespace: service.namespace, name: service.name },
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

function isCurrent(memo: Memo, contributions: readonly Contribution[], viewers: readonly string[]): boolean {
  return (
    memo.contributions.length === contributions.length &&
    memo.viewers.length === viewers.length &&
    memo.viewers.every((viewer, index) => viewer === viewers[index]) &&
    memo.contributions.every((before, index) => {
      const now = contributions[index]!;
      return (
        before.clusterId === now.clusterId &&
        before.exported === now.exported &&
        before.imported === now.imported &&
        before.setBack?.counts === now.setBack?.counts &&
        before.importedSince === now.importedSince
      );
    })
  );
}
