import {
  type KubeObject,
  namespace as namespaceObject,
  service,
  serviceExport,
  serviceSlice,
} from "../servers/kubernetes/objects.ts";

/** An endpoint of an EndpointSlice: an address, or the fields that differ from a ready endpoint. */
export type EndpointSpec = string | { address: string; hostname?: string; ready?: boolean };

export interface ExportOptions {
  headless?: boolean;
  /** One port, `port` of the Service and `targetPort` of the slices; http 80 and 8080 by default. */
  port?: { name: string; port: number; targetPort?: number };
  spec?: object;
  /** Endpoints by address family; what has a colon goes into the IPv6 slice. */
  endpoints: EndpointSpec[];
}

/** A Service, its EndpointSlices and its ServiceExport, in the order in which a user creates them. */
export function exported(namespace: string, name: string, options: ExportOptions): KubeObject[] {
  return [...unexported(namespace, name, options), serviceExport(namespace, name)];
}

export function unexported(namespace: string, name: string, options: ExportOptions): KubeObject[] {
  const { headless = false, port = { name: "http", port: 80, targetPort: 8080 }, spec = {} } = options;
  const { name: portName, port: number, targetPort = number } = port;
  return [
    service(namespace, name, {
      ...(headless && { clusterIP: "None" }),
      ports: [{ name: portName, port: number, targetPort, protocol: "TCP" }],
      ...spec,
    }),
    ...slices(namespace, name, options),
  ];
}

/** The EndpointSlices alone: one for IPv4, and one for IPv6 where there are such endpoints. */
export function slices(namespace: string, name: string, options: ExportOptions): KubeObject[] {
  const { port = { name: "http", port: 80, targetPort: 8080 }, endpoints } = options;
  const ports = [{ name: port.name, port: port.targetPort ?? port.port, protocol: "TCP" }];
  const all = endpoints.map((endpoint) => (typeof endpoint === "string" ? { address: endpoint } : endpoint));
  const slice = (addressType: "IPv4" | "IPv6", members: typeof all) =>
    serviceSlice(
      namespace,
      name,
      {
        addressType,
        ports,
        endpoints: members.map(({ address, hostname, ready = true }) => ({
          addresses: [address],
          ...(hostname !== undefined && { hostname }),
          conditions: { ready },
        })),
      },
      `${name}-${addressType.toLowerCase()}`,
    );
  const v6 = all.filter(({ address }) => address.includes(":"));
  const v4 = all.filter(({ address }) => !address.includes(":"));
  return [slice("IPv4", v4), ...(v6.length > 0 ? [slice("IPv6", v6)] : [])];
}

/** Services in a namespace of its own, ready to be applied. */
export function world(namespace: string, services: Record<string, ExportOptions>): KubeObject[] {
  return [
    namespaceObject(namespace),
    ...Object.entries(services).flatMap(([name, options]) => exported(namespace, name, options)),
  ];
}
