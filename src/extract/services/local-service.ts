import type { EndpointGroups, LocalService } from "../../snapshot/schema.ts";
import { readServicePorts } from "../endpoints.ts";
import { omitUndefined, quote, readBoundedText, readLabel } from "../fields.ts";
import type { FindingCollector, Report } from "../findings.ts";
import type { Service } from "../objects.ts";
import { isHeadless, readClusterIPs, readCreation, readPublishNotReady } from "./service-spec.ts";

/** The annotation that replaces the proposed field `spec.name` (multi-label CNAME records), which API servers drop. */
export const OWNED_NAME_ANNOTATION = "clusterset-doh.dev/name";

/**
 * A Service for the cluster's own zone (DNS-based service discovery 1.0.1). Undefined, with the finding
 * `InvalidServiceType`, if Kubernetes does not have its type. A Service of type ExternalName never has
 * cluster IPs or endpoints here, even if its other fields list some.
 */
export function describeLocalService(
  namespace: string,
  name: string,
  service: Service,
  endpoints: () => EndpointGroups,
  findings: FindingCollector,
): LocalService | undefined {
  const { metadata, spec } = service;
  const report = findings.about({ kind: "Service", namespace, name });
  const serviceType = readServiceType(report, spec?.type);
  if (serviceType === undefined) return undefined;
  const isAlias = serviceType === "ExternalName";
  const headless = !isAlias && isHeadless(spec);
  return omitUndefined({
    createdAt: readCreation(report, metadata?.creationTimestamp),
    serviceType,
    headless,
    ports: readServicePorts(report, spec?.ports),
    clusterIPs: isAlias || headless ? undefined : readClusterIPs(report, spec),
    publishNotReadyAddresses: readPublishNotReady(service),
    externalName: isAlias ? readBoundedText(report, "spec.externalName", spec?.externalName, 253) : undefined,
    ownedName: readOwnedName(report, service, isAlias),
    // Endpoints of other Services have no names; pushing them would cost a delta for every changed pod.
    endpoints: headless ? endpoints() : {},
  });
}

function readServiceType(report: Report, type: unknown): LocalService["serviceType"] | undefined {
  // The Kubernetes API fills in ClusterIP; a manifest may leave it out.
  if (type === undefined || type === null || type === "") return "ClusterIP";
  if (type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer" || type === "ExternalName")
    return type;
  return report(
    "InvalidServiceType",
    `the Service is of type ${quote(type)}, which Kubernetes does not have; it is not served in the cluster's zone`,
  );
}

const DNS_NAME =
  /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*$/i;

// "Must be a valid DNS name and requires Type to be ExternalName" (Multi-label subdomain support, Proposed solution).
function readOwnedName(report: Report, { metadata, spec }: Service, isAlias: boolean): string | undefined {
  const fromSpec = spec?.name ?? "";
  const [field, value] =
    fromSpec === ""
      ? [`the annotation ${OWNED_NAME_ANNOTATION}`, readLabel(metadata?.annotations, OWNED_NAME_ANNOTATION)]
      : ["spec.name", fromSpec];
  if (value === undefined || value === "") return undefined;
  if (isAlias && typeof value === "string" && DNS_NAME.test(value)) return value;
  const why = isAlias
    ? "is not a valid DNS name; the CNAME record keeps the name of the Service"
    : "requires the Service to be of type ExternalName; it is left out";
  return report("InvalidSpecName", `${field} is ${quote(value)}, which ${why}`);
}
