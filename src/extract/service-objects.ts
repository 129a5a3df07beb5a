import { equalJson } from "../snapshot/json-value.ts";
import type { ExportedService, Finding, ImportedService } from "../snapshot/schema.ts";
import type { NamedSlice } from "./endpoints.ts";
import { exportService } from "./exported-service.ts";
import { FindingCollector } from "./findings.ts";
import { MULTICLUSTER_GROUPS } from "./identity.ts";
import { importService } from "./imported-service.ts";
import type { Service, ServiceExport, ServiceImport } from "./objects.ts";

/** What a snapshot holds of one service. */
export interface ServiceExtract {
  readonly exported: ExportedService | undefined;
  readonly imported: ImportedService | undefined;
  readonly findings: readonly (readonly [key: string, finding: Finding])[];
}

const NOTHING: ServiceExtract = { exported: undefined, imported: undefined, findings: [] };

/** Everything of one namespaced name: its Service, its exports and imports by API group, their slices. */
export class ServiceObjects {
  readonly namespace: string;
  readonly name: string;
  service: Service | undefined;
  readonly exports = new Map<string, ServiceExport>();
  readonly imports = new Map<string, ServiceImport>();
  readonly localSlices = new Map<string, NamedSlice>();
  readonly importedSlices = new Map<string, NamedSlice>();
  extract: ServiceExtract = NOTHING;

  constructor(namespace: string, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  /** Whether nothing is left of the service. */
  get empty(): boolean {
    return (
      this.service === undefined &&
      this.exports.size === 0 &&
      this.imports.size === 0 &&
      this.localSlices.size === 0 &&
      this.importedSlices.size === 0
    );
  }

  /**
   * Extracts anew and returns what was extracted before; parts that say the same keep their identity.
   * In a namespace that does not exist the objects are leftovers, and nothing is extracted.
   */
  refresh(namespaceExists: boolean): ServiceExtract {
    const before = this.extract;
    const after = namespaceExists ? this.#extract() : NOTHING;
    this.extract = {
      exported: equalJson(before.exported, after.exported) ? before.exported : after.exported,
      imported: equalJson(before.imported, after.imported) ? before.imported : after.imported,
      findings: equalJson(before.findings, after.findings) ? before.findings : after.findings,
    };
    return before;
  }

  #extract(): ServiceExtract {
    const { namespace, name } = this;
    const findings = new FindingCollector();
    const declaredExports = byGroup(this.exports);
    const exported =
      declaredExports.length === 0
        ? undefined
        : exportService(namespace, name, declaredExports, this.service, this.localSlices.values(), findings);
    const [declaredImport] = byGroup(this.imports);
    const imported =
      declaredImport === undefined
        ? undefined
        : importService(namespace, name, declaredImport, this.importedSlices.values(), findings);
    return { exported, imported, findings: findings.collect() };
  }
}

function byGroup<Declared>(declared: ReadonlyMap<string, Declared>): Declared[] {
  return MULTICLUSTER_GROUPS.flatMap((group) => declared.get(group) ?? []);
}
