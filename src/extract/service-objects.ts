import type { EndpointGroups, ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import { mergeSlices, type NamedSlice } from "./endpoints.ts";
import { FindingCollector, type KeyedFinding } from "./findings.ts";
import type { Service, ServiceExport, ServiceImport } from "./objects.ts";
import { isOwnObject, MULTICLUSTER_GROUPS, type SliceOwner } from "./objects.ts";
import { exportService } from "./services/exported-service.ts";
import { importService, standsForService } from "./services/imported-service.ts";
import { describeLocalService, type NodeAddresses, readNodePorts } from "./services/local-service.ts";

/** The parts of a snapshot that one service yields. */
interface ServiceExtract {
  readonly exported: ExportedService | undefined;
  readonly imported: ImportedService | undefined;
  /** For the cluster's own zone. */
  readonly local: LocalService | undefined;
  readonly findings: readonly KeyedFinding[];
}

/** The objects of one namespaced name: its Service, its exports and imports by API group, their slices. */
export class ServiceObjects {
  readonly namespace: string;
  readonly name: string;
  service: Service | undefined;
  readonly exports = new Map<string, ServiceExport>();
  readonly imports = new Map<string, ServiceImport>();
  /** By slice name; only the cluster's own zone needs foreign slices. */
  readonly slices: Readonly<Record<SliceOwner["side"], Map<string, NamedSlice>>> = {
    local: new Map(),
    imported: new Map(),
    foreign: new Map(),
  };

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  /** Whether the service has no objects any more. */
  get empty(): boolean {
    return (
      this.service === undefined &&
      this.exports.size === 0 &&
      this.imports.size === 0 &&
      Object.values(this.slices).every(({ size }) => size === 0)
    );
  }

  /** Removes a slice from its side. */
  forgetSlice(name: string): void {
    for (const slices of Object.values(this.slices)) slices.delete(name);
  }

  /** @param withLocal whether the cluster has its own zone @param nodes the addresses of nodes */
  extract(withLocal: boolean, nodes: NodeAddresses | undefined): ServiceExtract {
    const { namespace, name } = this;
    const findings = new FindingCollector();
    let own: EndpointGroups | undefined;
    const ownEndpoints = () => {
      own ??= mergeSlices(this.slices.local.values(), findings);
      return own;
    };
    const nodePorts = () => nodes && readNodePorts(this.service!, this.slices.local.values(), nodes);
    const declaredExports = byGroup(this.exports);
    const exported =
      declaredExports.length === 0
        ? undefined
        : exportService(namespace, name, declaredExports, this.service, ownEndpoints, nodePorts, findings);
    const declaredImports = byGroup(this.imports).filter(standsForService);
    const declaredImport = declaredImports.find((one) => !isOwnObject(one)) ?? declaredImports[0];
    const imported =
      declaredImport === undefined
        ? undefined
        : importService(namespace, name, declaredImport, this.slices.imported.values(), findings);
    // As in CoreDNS, every slice with the Service's label counts, with or without a selector, from any
    // cluster. Findings about a foreign slice belong to its ServiceImport.
    const allEndpoints = () => {
      const own = ownEndpoints();
      const { local, foreign } = this.slices;
      if (foreign.size === 0) return own;
      return mergeSlices([...local.values(), ...foreign.values()], new FindingCollector());
    };
    // How many Services the control plane derives is up to other clusters, which must not use up this one's
    // limits.
    const local =
      withLocal && this.service !== undefined && !isOwnObject(this.service)
        ? describeLocalService(namespace, name, this.service, allEndpoints, findings)
        : undefined;
    return { exported, imported, local, findings: findings.collect() };
  }
}

function byGroup<Declared>(declared: ReadonlyMap<string, Declared>): Declared[] {
  return MULTICLUSTER_GROUPS.flatMap((group) => declared.get(group) ?? []);
}
