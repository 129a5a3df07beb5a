import { type KubeObject, service, serviceSlice } from "../../servers/kubernetes/objects.ts";
import { type ImportedSlice, type Port, type SliceEndpoint, slice } from "../worlds/services.ts";

/** A Service of a cluster as its API server holds it. */
export interface OwnService {
  namespace: string;
  name: string;
  kind: "cluster IP" | "headless" | "external name";
  ports: Port[];
  /** One per family, the first being of the family that is preferred; none for the other kinds. */
  clusterIPs: string[];
  publishNotReadyAddresses?: boolean;
  externalName?: string;
  annotations?: Record<string, string>;
  slices: ImportedSlice[];
  /** The API server makes it of itself. */
  isBuiltIn?: boolean;
}

export function clusterIp(
  namespace: string,
  name: string,
  clusterIPs: string[],
  ports: Port[],
  ...slices: ImportedSlice[]
): OwnService {
  return { namespace, name, kind: "cluster IP", ports, clusterIPs, slices };
}

/** A headless Service with the ports of its first slice, as far as a Service can have them. */
export function headless(namespace: string, name: string, ...slices: ImportedSlice[]): OwnService {
  const numbered = (slices[0]?.ports ?? []).filter(({ port = 0 }) => port > 0 && port < 65536);
  const ports = numbered.filter((port, _, { length }) => length === 1 || port.name);
  return { namespace, name, kind: "headless", ports, clusterIPs: [], slices };
}

export function alias(namespace: string, name: string, externalName: string): OwnService {
  return { namespace, name, kind: "external name", ports: [], clusterIPs: [], externalName, slices: [] };
}

/** A slice of IPv4 or IPv6 endpoints, by the first of them; FQDN if it is neither. */
export function ownSlice(ports: Port[], ...endpoints: SliceEndpoint[]): ImportedSlice {
  return slice(undefined, ports, endpoints);
}

export function objectsOf(own: OwnService): KubeObject[] {
  const { namespace, name, annotations, slices, isBuiltIn } = own;
  const object = service(namespace, name, specOf(own));
  Object.assign(object.metadata, annotations && { annotations });
  return [
    ...(isBuiltIn ? [] : [object]),
    ...slices.map((options, index) =>
      serviceSlice(namespace, name, options, `${name.slice(0, 50)}-${index}`),
    ),
  ];
}

function specOf({ kind, ports, clusterIPs, publishNotReadyAddresses, externalName }: OwnService): object {
  if (kind === "external name") return { type: "ExternalName", externalName };
  const common = { ports, ...(publishNotReadyAddresses && { publishNotReadyAddresses }) };
  if (kind === "headless") return { clusterIP: "None", ...common };
  return {
    type: "ClusterIP",
    clusterIP: clusterIPs[0],
    clusterIPs,
    ipFamilies: clusterIPs.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4")),
    ipFamilyPolicy: clusterIPs.length > 1 ? "RequireDualStack" : "SingleStack",
    ...common,
  };
}
