import type { EndpointGroups, ImportedService } from "../../snapshot/schema.ts";
import { mergeSlices, type NamedSlice, readServicePorts } from "../endpoints.ts";
import { compareText, readBoundedText, readLabel, readTexts } from "../fields.ts";
import type { FindingCollector } from "../findings.ts";
import type { ServiceImport } from "../objects.ts";
import { isOwnObject, readGlobalProperties, SOURCE_CLUSTER_LABEL } from "../objects.ts";

/**
 * On the ServiceImports that Submariner's Lighthouse keeps for itself in its own namespaces: a label on those
 * of one cluster's exports, an annotation on those of its broker. The copies in the namespaces of services
 * have neither.
 */
const LIGHTHOUSE_SOURCE_NAMESPACE = "lighthouse.submariner.io/sourceNamespace";

/**
 * Whether a ServiceImport is of a service in its namespace, as in KEP-1645, and no record that an
 * implementation keeps for itself.
 */
export function standsForService({ metadata }: ServiceImport): boolean {
  return (
    readLabel(metadata?.labels, LIGHTHOUSE_SOURCE_NAMESPACE) === undefined &&
    readLabel(metadata?.annotations, LIGHTHOUSE_SOURCE_NAMESPACE) === undefined
  );
}

const SOURCE_CLUSTER = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,125}[A-Za-z0-9])?)?$/;

/**
 * A ServiceImport with the EndpointSlices that its MCS implementation keeps for it, by source cluster
 * (KEP-1645, Using EndpointSlice objects to track endpoints). Of one that the worker made only `ips` are news
 * to the gateway: undefined without any.
 */
export function importService(
  namespace: string,
  name: string,
  declared: ServiceImport,
  slices: Iterable<NamedSlice>,
  findings: FindingCollector,
): ImportedService | undefined {
  const report = findings.about({ kind: "ServiceImport", namespace, name });
  const spec = declared.spec;
  const ips = readTexts(report, "spec.ips", spec?.ips, 64, 16);
  if (isOwnObject(declared))
    return ips.length === 0 ? undefined : { managed: true, ips, ports: [], endpoints: {} };
  return {
    type: readBoundedText(report, "spec.type", spec?.type, 63),
    ips,
    ports: readServicePorts(report, spec?.ports),
    ...readGlobalProperties(report, spec),
    endpoints: mergeBySource(slices, findings),
  };
}

function mergeBySource(
  slices: Iterable<NamedSlice>,
  findings: FindingCollector,
): Record<string, EndpointGroups> {
  const bySource = Map.groupBy(slices, (named) => readSource(named, findings));
  bySource.delete(undefined);
  const sources = ([...bySource] as [string, NamedSlice[]][]).sort(([left], [right]) =>
    compareText(left, right),
  );
  return Object.fromEntries(sources.map(([source, all]) => [source, mergeSlices(all, findings)]));
}

/** The source cluster of a slice; undefined, with a finding, if it names none. */
function readSource({ namespace, name, slice }: NamedSlice, findings: FindingCollector): string | undefined {
  const report = findings.about({ kind: "EndpointSlice", namespace, name });
  const source = readLabel(slice.metadata?.labels, SOURCE_CLUSTER_LABEL);
  if (source === undefined)
    return report("NoSourceCluster", `has no label ${SOURCE_CLUSTER_LABEL}; the slice is left out`);
  if (SOURCE_CLUSTER.test(source)) return source;
  const message = `the value of label ${SOURCE_CLUSTER_LABEL} is not a label value; the slice is left out`;
  return report("InvalidSourceCluster", message);
}
