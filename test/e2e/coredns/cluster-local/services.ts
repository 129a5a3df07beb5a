import { type KubeObject, service, serviceSlice } from "../../servers/kubernetes/objects.ts";
import type { ImportedSlice, Port, SliceEndpoint } from "../worlds/services.ts";
import { slice } from "../worlds/services.ts";

/** An EndpointSlice of a cluster's own Service. */
export type OwnSlice = Pick<ImportedSlice, "addressType" | "ports" | "endpoints">;

/** A Service of a cluster as its API server holds it. */
export interface OwnService {
  namespace: string;
  name: string;
  kind: "cluster IP" | "headless" | "external name";
  /** `spec.type` where that is neither ClusterIP nor ExternalName. */
  type?: "NodePort" | "LoadBalancer";
  ports: Port[];
  /** One per family, the first being of the family that is preferred; none for the other kinds. */
  clusterIPs: string[];
  publishNotReadyAddresses?: boolean;
  /** What the name is an alias of. */
  externalName?: string;
  annotations?: Record<string, string>;
  slices: OwnSlice[];
  /** The API server makes it of itself. */
  isBuiltIn?: boolean;
}

/** A Service with cluster IPs. */
export function clusterIp(
  namespace: string,
  name: string,
  clusterIPs: string[],
  ports: Port[],
  ...slices: OwnSlice[]
): OwnService {
  return { namespace, name, kind: "cluster IP", ports, clusterIPs, slices };
}

/** A headless Service with the ports of its first slice, as far as a Service can have them. */
export function headless(namespace: string, name: string, ...slices: OwnSlice[]): OwnService {
  const numbered = (slices[0]?.ports ?? []).filter(({ port = 0 }) => port > 0 && port < 65536);
  const ports = numbered.filter((port, _, { length }) => length === 1 || port.name);
  return { namespace, name, kind: "headless", ports, clusterIPs: [], slices };
}

/** A Service that is an alias. */
export function alias(namespace: string, name: string, externalName: string): OwnService {
  return { namespace, name, kind: "external name", ports: [], clusterIPs: [], externalName, slices: [] };
}

/** A slice of IPv4 or IPv6 endpoints, by the first of them; FQDN if it is neither. */
export function ownSlice(ports: Port[], ...endpoints: SliceEndpoint[]): OwnSlice {
  const { addressType } = slice(undefined, ports, endpoints);
  return { addressType, ports, endpoints };
}

/** The Kubernetes objects of a Service. */
export function objectsOf(own: OwnService): KubeObject[] {
  const { namespace, name, annotations, slices, isBuiltIn } = own;
  const object = service(namespace, name, specOf(own));
  return [
    ...(isBuiltIn
      ? []
      : [{ ...object, metadata: { ...object.metadata, ...(annotations && { annotations }) } } as KubeObject]),
    ...slices.map((options, index) =>
      serviceSlice(namespace, name, options, `${name.slice(0, 50)}-${index}`),
    ),
  ];
}

function specOf({
  kind,
  type,
  ports,
  clusterIPs,
  publishNotReadyAddresses,
  externalName,
}: OwnService): object {
  if (kind === "external name") return { type: "ExternalName", externalName };
  const common = { ports, ...(publishNotReadyAddresses && { publishNotReadyAddresses }) };
  if (kind === "headless") return { clusterIP: "None", ...common };
  return {
    type: type ?? "ClusterIP",
    clusterIP: clusterIPs[0],
    clusterIPs,
    ipFamilies: clusterIPs.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4")),
    ipFamilyPolicy: clusterIPs.length > 1 ? "RequireDualStack" : "SingleStack",
    ...common,
  };
}
