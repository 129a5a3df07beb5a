import type { EndpointGroups, ImportedService } from "../../snapshot/schema.ts";
import { mergeSlices, type NamedSlice, readServicePorts } from "../endpoints.ts";
import { compareText, omitUndefined, readBoundedText, readLabel, readTexts } from "../fields.ts";
import type { FindingCollector } from "../findings.ts";
import type { ServiceImport } from "../objects.ts";
import { isOwnObject, readGlobalProperties, SOURCE_CLUSTER_LABEL } from "../objects.ts";

/**
 * On the ServiceImports that Submariner's Lighthouse keeps for itself in its own namespaces: a label on those of one cluster's exports, an
 * annotation on those of its broker. The copies in the namespaces of services have neither.
 */
const LIGHTHOUSE_SOURCE_NAMESPACE = "lighthouse.submariner.io/sourceNamespace";

/** Whether a ServiceImport is of a service in its namespace, as in KEP-1645, and no record that an implementation keeps for itself. */
export function standsForService({ metadata }: ServiceImport): boolean {
  return (
    readLabel(metadata?.labels, LIGHTHOUSE_SOURCE_NAMESPACE) === undefined &&
    readLabel(metadata?.annotations, LIGHTHOUSE_SOURCE_NAMESPACE) === undefined
  );
}

const SOURCE_CLUSTER = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,125}[A-Za-z0-9])?)?$/;

/**
 * A ServiceImport with the EndpointSlices that its MCS implementation keeps for it, by source cluster
 * (KEP-1645, Using EndpointSlice objects to track endpoints). Of one that the worker made only `ips` are news to the gateway.
 */
export function importService(
  namespace: string,
  name: string,
  declared: ServiceImport,
  slices: Iterable<NamedSlice>,
  findings: FindingCollector,
): ImportedService {
  const report = findings.about({ kind: "ServiceImport", namespace, name });
  const spec = declared.spec;
  if (isOwnObject(declared))
    return { managed: true, ips: readTexts(report, "spec.ips", spec?.ips, 64, 16), ports: [], endpoints: {} };
  return omitUndefined({
    type: readBoundedText(report, "spec.type", spec?.type, 63),
    ips: readTexts(report, "spec.ips", spec?.ips, 64, 16),
    ports: readServicePorts(report, spec?.ports),
    ...readGlobalProperties(report, spec),
    endpoints: mergeBySource(slices, findings),
  });
}

function mergeBySource(
  slices: Iterable<NamedSlice>,
  findings: FindingCollector,
): Record<string, EndpointGroups> {
  const bySource = new Map<string, NamedSlice[]>();
  for (const named of slices) {
    const source = readLabel(named.slice.metadata?.labels, SOURCE_CLUSTER_LABEL);
    const report = findings.about({ kind: "EndpointSlice", namespace: named.namespace, name: named.name });
    if (source === undefined)
      report("NoSourceCluster", `has no label ${SOURCE_CLUSTER_LABEL}; the slice is left out`);
    else if (!SOURCE_CLUSTER.test(source))
      report(
        "InvalidSourceCluster",
        `the value of label ${SOURCE_CLUSTER_LABEL} is not a label value; the slice is left out`,
      );
    else {
      const before = bySource.get(source);
      if (before === undefined) bySource.set(source, [named]);
      else before.push(named);
    }
  }
  const endpoints: Record<string, EndpointGroups> = {};
  for (const [source, ofSource] of [...bySource].sort(([left], [right]) => compareText(left, right)))
    endpoints[source] = mergeSlices(ofSource, findings);
  return endpoints;
}
