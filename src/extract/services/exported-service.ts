import { encodeUtf8 } from "../../snapshot/lines/json-syntax.ts";
import {
  type EndpointGroups,
  type ExportedService,
  isClusterId,
  MOST_CLUSTERS,
} from "../../snapshot/schema.ts";
import { readServicePorts } from "../endpoints.ts";
import {
  compareText,
  keepFirst,
  quote,
  readBoundedText,
  readMapping,
  readReportedList,
  readTexts,
} from "../fields.ts";
import type { FindingCollector, Report } from "../findings.ts";
import type { Service, ServiceExport } from "../objects.ts";
import { isOwnObject, readGlobalProperties } from "../objects.ts";
import { isHeadless, nonEmpty, readClusterIPs, readCreation, readPublishNotReady } from "./local-service.ts";

/**
 * A ServiceExport joined with its Service and that Service's EndpointSlices (KEP-1645, Exporting
 * Services). Undefined, with a finding, if nothing can be exported: `Terminating`, `NoService`,
 * `InvalidServiceType`.
 */
export function exportService(
  namespace: string,
  name: string,
  declared: readonly ServiceExport[],
  service: Service | undefined,
  endpoints: () => EndpointGroups,
  nodes: () => ExportedService["nodes"],
  findings: FindingCollector,
): ExportedService | undefined {
  const report = findings.about({ kind: "ServiceExport", namespace, name });
  const standing = declared.filter((one) => !one.metadata?.deletionTimestamp);
  if (standing.length === 0)
    return report("Terminating", "the ServiceExport is being deleted, so the service is no longer exported");
  if (service === undefined)
    return report(
      "NoService",
      `no Service ${quote(`${namespace}/${name}`)} exists; create it or delete the ServiceExport`,
    );
  if (isOwnObject(service))
    return report(
      "InvalidServiceType",
      "the Service was derived from a ServiceImport, which cannot be exported; delete the ServiceExport",
    );
  const serviceType = readServiceType(report, service.spec?.type);
  if (serviceType === undefined) return undefined;

  const dates = standing.map((one) => readCreation(report, one.metadata?.creationTimestamp));
  const { exportedLabels, exportedAnnotations } = standing[0]!.spec ?? {};
  const aboutService = findings.about({ kind: "Service", namespace, name });
  const spec = service.spec;
  const headless = isHeadless(spec);
  return {
    exportedAt: dates.reduce((oldest, date) => (Date.parse(date) < Date.parse(oldest) ? date : oldest)),
    serviceType,
    headless,
    clusters: readClusters(report, standing),
    ports: readServicePorts(aboutService, spec?.ports),
    ...readGlobalProperties(aboutService, spec),
    ipFamilies: nonEmpty(readIpFamilies(aboutService, spec?.ipFamilies)),
    exportedLabels: readPairs(report, "spec.exportedLabels", exportedLabels, 63),
    exportedAnnotations: readPairs(report, "spec.exportedAnnotations", exportedAnnotations, 262144),
    publishNotReadyAddresses: readPublishNotReady(aboutService, service),
    clusterIPs: headless ? undefined : readClusterIPs(aboutService, spec),
    loadBalancer: nonEmpty(readIngress(aboutService, service.status?.loadBalancer?.ingress)),
    externalIPs: nonEmpty(readTexts(aboutService, "spec.externalIPs", spec?.externalIPs, 64, 100)),
    nodes: headless ? undefined : nodes(),
    endpoints: endpoints(),
  };
}

/**
 * The clusters that a service is exported to. Undefined without an entry: an implementation that writes none
 * exports to all.
 */
function readClusters(report: Report, declared: readonly ServiceExport[]): string[] | undefined {
  const entries = declared.flatMap(({ status }) =>
    readReportedList(report, "status.clusters", status?.clusters),
  );
  if (entries.length === 0) return undefined;
  const clusters = entries.flatMap((element) => {
    const { cluster } = readMapping(element);
    if (typeof cluster === "string" && isClusterId(cluster)) return [cluster];
    report("InvalidField", `status.clusters holds ${quote(element)}, which names no cluster; it is left out`);
    return [];
  });
  return keepFirst(report, "status.clusters", [...new Set(clusters)].sort(), MOST_CLUSTERS);
}

function readServiceType(report: Report, type: unknown): ExportedService["serviceType"] | undefined {
  // The Kubernetes API fills in ClusterIP; a manifest may leave it out.
  if (type === undefined || type === null || type === "") return "ClusterIP";
  if (type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer") return type;
  return report(
    "InvalidServiceType",
    `the Service is of type ${quote(type)}, which cannot be exported (KEP-1645, Service Types); create it in each cluster instead`,
  );
}

function readIpFamilies(report: Report, value: unknown): ("IPv4" | "IPv6")[] {
  const families = readReportedList(report, "spec.ipFamilies", value).flatMap(
    (family): ("IPv4" | "IPv6")[] => {
      if (family === "IPv4" || family === "IPv6") return [family];
      report("InvalidField", `spec.ipFamilies holds ${quote(family)}, neither IPv4 nor IPv6; it is left out`);
      return [];
    },
  );
  return [...new Set(families)];
}

function readIngress(report: Report, value: unknown): NonNullable<ExportedService["loadBalancer"]> {
  const field = "status.loadBalancer.ingress";
  const ingress = readReportedList(report, field, value).flatMap((element, index) => {
    const { ip, hostname } = readMapping(element);
    const read = {
      ip: readBoundedText(report, `${field}[${index}].ip`, ip, 64),
      hostname: readBoundedText(report, `${field}[${index}].hostname`, hostname, 253),
    };
    return read.ip === undefined && read.hostname === undefined ? [] : [read];
  });
  return keepFirst(report, field, ingress, 100);
}

const PAIR_KEY = /^[A-Za-z0-9][-A-Za-z0-9_./]{0,316}$/;
/**
 * Bytes of all labels, or all annotations, as JSON: as many as an API server takes, where control characters
 * need no escapes.
 */
const MOST_PAIR_BYTES = 256 * 1024;

function readPairs(
  report: Report,
  field: string,
  value: unknown,
  most: number,
): Record<string, string> | undefined {
  const pairs: Record<string, string> = {};
  const excess: string[] = [];
  let left = MOST_PAIR_BYTES;
  const sorted = Object.entries(readMapping(value)).sort(([left], [right]) => compareText(left, right));
  for (const [key, text] of sorted) {
    if (!PAIR_KEY.test(key) || typeof text !== "string" || text.length > most) {
      report(
        "InvalidField",
        `${field} holds ${quote({ [key]: text })}, which is not a label; it is left out`,
      );
      continue;
    }
    const bytes = encodeUtf8(JSON.stringify({ [key]: text })).length;
    if (bytes > left) excess.push(key);
    else {
      left -= bytes;
      pairs[key] = text;
    }
  }
  if (excess.length > 0)
    report(
      "TooMany",
      `${field} has more than ${MOST_PAIR_BYTES} bytes as JSON; ${quote(excess[0])} is left out, and so is every other one that does not fit`,
    );
  return Object.keys(pairs).length === 0 ? undefined : pairs;
}
