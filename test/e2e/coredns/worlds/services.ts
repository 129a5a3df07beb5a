import {
  endpointSlice,
  type KubeObject,
  multiclusterServiceLabel,
  serviceImport,
  sourceClusterLabel,
} from "../../servers/kubernetes/objects.ts";

/** A port of a ServiceImport or EndpointSlice; their schemas let everything be missing. */
export interface Port {
  name?: string;
  port?: number;
  protocol?: string;
}

export interface ImportSpec {
  type: "ClusterSetIP" | "Headless";
  ips?: string[];
  ports?: Port[];
}

export interface SliceEndpoint {
  addresses: string[];
  hostname?: string;
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
}

/** An EndpointSlice that an MCS implementation has made, or should have. */
export interface ImportedSlice {
  /** The value of the source-cluster label; undefined for a slice without that label. */
  source: string | undefined;
  addressType: "IPv4" | "IPv6" | "FQDN";
  ports: Port[];
  endpoints: SliceEndpoint[];
  labels: Record<string, string>;
}

/** A service of the clusterset as one cluster's API server holds it. */
export interface ImportedService {
  namespace: string;
  name: string;
  /** The spec of the ServiceImport; `none` if there is no ServiceImport, undefined if it has no spec. */
  spec: ImportSpec | "none" | undefined;
  slices: ImportedSlice[];
}

export function clusterSetIp(
  namespace: string,
  name: string,
  spec: Omit<ImportSpec, "type">,
  ...slices: ImportedSlice[]
): ImportedService {
  return { namespace, name, spec: { type: "ClusterSetIP", ...spec }, slices };
}

/** A headless service; its ServiceImport has the ports of its first slice. */
export function headless(namespace: string, name: string, ...slices: ImportedSlice[]): ImportedService {
  const ports = (slices[0]?.ports ?? []).map((port) => ({ protocol: "TCP", ...port, port: port.port ?? 0 }));
  return { namespace, name, spec: { type: "Headless", ports }, slices };
}

/** A slice of IPv4 or IPv6 endpoints, by the first of them; FQDN if it is neither. */
export function slice(
  source: string | undefined,
  ports: Port[],
  endpoints: SliceEndpoint[],
  labels: Record<string, string> = {},
): ImportedSlice {
  const first = endpoints[0]?.addresses[0] ?? "0.0.0.0";
  const addressType = first.includes(":") ? "IPv6" : /^[\d.]+$/.test(first) ? "IPv4" : "FQDN";
  return { source, addressType, ports, endpoints, labels };
}

/** An endpoint with one address. @param conditions such as `ready !serving`; without them it is ready */
export function endpoint(address: string, hostname?: string, conditions?: string): SliceEndpoint {
  const words = conditions?.split(" ").filter(Boolean);
  return {
    addresses: [address],
    ...(hostname !== undefined && { hostname }),
    ...(words && {
      conditions: Object.fromEntries(words.map((word) => [word.replace("!", ""), !word.startsWith("!")])),
    }),
  };
}

export function port(name: string, number: number, protocol?: string): Port {
  return { name, port: number, ...(protocol && { protocol }) };
}

export function objectsOf({ namespace, name, spec, slices }: ImportedService): KubeObject[] {
  const imported = serviceImport(namespace, name, spec as ImportSpec);
  if (spec === undefined) delete imported.spec;
  return [
    ...(spec === "none" ? [] : [imported]),
    ...slices.map(({ source, labels, ...options }, index) =>
      endpointSlice(namespace, `${name.slice(0, 40)}-${index}`, {
        ...options,
        labels: {
          [multiclusterServiceLabel]: name,
          ...(source === undefined ? {} : { [sourceClusterLabel]: source }),
          ...labels,
        },
      }),
    ),
  ];
}
