import type { DesiredImport } from "../../snapshot/desired/desired-line.ts";
import { isLabelValue, isQualifiedName } from "../../snapshot/desired/qualified-name.ts";
import type { ServicePort } from "../../snapshot/schema.ts";
import { DERIVED_SERVICE, derivedServiceName } from "./names.ts";
import { type ManagedObject, mark } from "./wanted-object.ts";

/** The group of ServiceImport and ServiceExport. */
export const MULTICLUSTER_GROUP = "multicluster.x-k8s.io";

/** The addresses that the API server allocated to the derived Service. */
export interface ClusterSetIPs {
  readonly ips: readonly string[];
  readonly ipFamilies: readonly string[];
}

/** A ServiceImport (KEP-1645, Importing Services). Without `addresses` a ClusterSetIP import has no `ips` yet. */
export function serviceImport(
  version: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  desired: DesiredImport,
  addresses: ClusterSetIPs | undefined,
): ManagedObject {
  const isHeadless = desired.type === "Headless";
  return mark({
    apiVersion: `${MULTICLUSTER_GROUP}/${version}`,
    kind: "ServiceImport",
    metadata: {
      namespace,
      name,
      labels: Object.fromEntries(Object.entries(desired.labels).filter(isLabel)),
      annotations: {
        ...Object.fromEntries(Object.entries(desired.annotations).filter(([key]) => isQualifiedName(key))),
        ...(!isHeadless && { [DERIVED_SERVICE]: derivedServiceName(name) }),
      },
    },
    spec: {
      type: desired.type,
      ports: desired.ports.map(portOf),
      ips: isHeadless ? [] : (addresses?.ips ?? []),
      ipFamilies: isHeadless ? desired.ipFamilies : (addresses?.ipFamilies ?? desired.ipFamilies),
      ...propertiesOf(desired),
    },
  });
}

/** The properties that a ServiceImport and its derived Service have in common. */
export function propertiesOf(desired: DesiredImport): Record<string, unknown> {
  const { sessionAffinity, sessionAffinityTimeoutSeconds: timeoutSeconds } = desired;
  return {
    sessionAffinity: sessionAffinity ?? "None",
    ...(timeoutSeconds !== undefined && { sessionAffinityConfig: { clientIP: { timeoutSeconds } } }),
    internalTrafficPolicy: desired.internalTrafficPolicy ?? "Cluster",
    ...(desired.trafficDistribution !== undefined && { trafficDistribution: desired.trafficDistribution }),
  };
}

/** A port in the form of the API: what is not set is left out. */
export function portOf({ name, protocol, port, appProtocol }: ServicePort): Record<string, unknown> {
  return { ...(name !== "" && { name }), protocol, port, ...(appProtocol !== undefined && { appProtocol }) };
}

/** The status of a ServiceImport: `Ready` is False while a ClusterSetIP import has no address. */
export function importStatus(
  desired: DesiredImport,
  isReady: boolean,
): { readonly clusters: readonly object[]; readonly conditions: readonly ImportCondition[] } & Record<
  string,
  unknown
> {
  return {
    clusters: desired.clusters.map((cluster) => ({ cluster })),
    endpointSliceObjects: "Present",
    conditions: [
      isReady
        ? { type: "Ready", status: "True", reason: "Ready", message: "the clusterset's endpoints are here" }
        : {
            type: "Ready",
            status: "False",
            reason: "Pending",
            message: "the derived Service has no cluster IP yet",
          },
    ],
  };
}

/** A condition without its times. */
export interface ImportCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The CRD of ServiceExport takes any text as an exported label, the API server does not (422). */
function isLabel([key, value]: [string, string]): boolean {
  return isQualifiedName(key) && isLabelValue(value);
}
