import type { DesiredImport } from "../../snapshot/desired/desired-line.ts";
import type { ServicePort } from "../../snapshot/schema.ts";
import { derivedServiceName } from "./names.ts";
import { SERVICE_NAME } from "./owner.ts";
import { type ClusterSetIPs, portOf, propertiesOf } from "./service-import.ts";
import { type ManagedObject, mark } from "./wanted-object.ts";

/**
 * The selectorless Service from which a ServiceImport has its `spec.ips`: the API server allocates them, and kube-proxy routes them to the
 * slices that name this Service. Undefined if no port fits: a Service needs at least one. The import does not own it: the Service is made first, so
 * that the import has its addresses when it is written, and an import that somebody deleted comes back with the same ones.
 */
export function derivedService(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  desired: DesiredImport,
): ManagedObject | undefined {
  const ports = fittingPorts(desired.ports);
  if (ports.length === 0) return undefined;
  return mark({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name: derivedServiceName(name), labels: { [SERVICE_NAME]: name } },
    spec: {
      type: "ClusterIP",
      ipFamilyPolicy: "PreferDualStack",
      ports: ports.map(portOf),
      ...propertiesOf(desired),
    },
  });
}

/**
 * The ports that a Service takes: a union of several exports can have two of one number and protocol, or an unnamed one beside others
 * (422). The first of them stays.
 */
export function fittingPorts(ports: readonly ServicePort[]): readonly ServicePort[] {
  const numbers = new Set<string>();
  const valid = ports.filter(({ port, protocol }) => {
    const key = `${protocol}/${port}`;
    if (port < 1 || port > 65535 || numbers.has(key)) return false;
    numbers.add(key);
    return true;
  });
  return valid.length > 1 ? valid.filter(({ name }) => name !== "") : valid;
}

/** The cluster IPs of a derived Service; undefined before the API server has allocated them. */
export function clusterSetIPsOf(service: ManagedObject | undefined): ClusterSetIPs | undefined {
  const { clusterIPs, ipFamilies } = (service?.spec ?? {}) as { clusterIPs?: unknown; ipFamilies?: unknown };
  if (!isTexts(clusterIPs) || !isTexts(ipFamilies) || clusterIPs.length === 0 || clusterIPs[0] === "None")
    return undefined;
  return { ips: clusterIPs, ipFamilies };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((element) => typeof element === "string");
}
