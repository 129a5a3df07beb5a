import * as z from "zod";
import { ClusterId, Endpoint, EndpointPort, objectKey, ServicePort, text } from "./schema.ts";

const IpFamily = z.enum(["IPv4", "IPv6"]);

/** Ports of an import at most: those of one export. The union of several exports is cut. */
export const MOST_IMPORT_PORTS = 1000;

/**
 * A ServiceImport as a cluster should have it (KEP-1645, Importing Services); its `ips` come from the
 * importing cluster itself.
 */
export const DesiredImport = z.strictObject({
  type: z.enum(["ClusterSetIP", "Headless"]),
  ports: z.array(ServicePort).max(MOST_IMPORT_PORTS),
  /**
   * Those that the exporters' Services state, else those of their endpoints; a ClusterSetIP import takes
   * those of its derived Service instead.
   */
  ipFamilies: z.array(IpFamily).max(2),
  /** This and the next three are absent where they have the Kubernetes API's default. */
  sessionAffinity: text(63).optional(),
  sessionAffinityTimeoutSeconds: z.int().optional(),
  internalTrafficPolicy: text(63).optional(),
  trafficDistribution: text(317).optional(),
  labels: z.record(text(317), text(63)),
  annotations: z.record(text(317), text(262144)),
  /** `status.clusters`: the exporters, oldest ServiceExport first. */
  clusters: z.array(ClusterId),
});
export type DesiredImport = Readonly<z.infer<typeof DesiredImport>>;

/**
 * One EndpointSlice of one exporter. Endpoints with the same address and different host names are several.
 */
export const DesiredSlice = z.strictObject({
  addressType: IpFamily,
  ports: z.array(EndpointPort.extend({ appProtocol: text(317).optional() })).max(1000),
  endpoints: z.array(Endpoint).max(1000),
});
export type DesiredSlice = Readonly<z.infer<typeof DesiredSlice>>;

/** A condition of a ServiceExport; the worker adds `lastTransitionTime` and `observedGeneration`. */
export const DesiredCondition = z.strictObject({
  type: z.enum(["Valid", "Ready", "Conflict"]),
  status: z.enum(["True", "False", "Unknown"]),
  /** One or more reasons of the MCS API, joined by commas. */
  reason: text(1024).min(1),
  message: text(32768),
});
export type DesiredCondition = Readonly<z.infer<typeof DesiredCondition>>;

/**
 * One line of a cluster's desired state (NDJSON). A stream begins with `start`. After a `snapshot`, what no
 * line names until the next `position` is not desired; after `changes`, what no line names is as it was at
 * the position that the client gave. Lines between two positions belong together.
 */
export const DesiredLine = z.union([
  z.strictObject({ start: z.enum(["snapshot", "changes"]), formatVersion: z.literal(1) }),
  /** null: no ServiceImport of that name is desired. */
  z.strictObject({ import: objectKey, desired: DesiredImport.nullable() }),
  /**
   * `slice` names the slice within the service and its source cluster: at most 40 characters of `a-z0-9-`.
   * null: not desired.
   */
  z.strictObject({
    service: objectKey,
    cluster: ClusterId,
    slice: text(40).regex(/^[a-z0-9-]+$/),
    desired: DesiredSlice.nullable(),
  }),
  /** The conditions of one of the cluster's own ServiceExports. null: the gateway knows no such export. */
  z.strictObject({ export: objectKey, conditions: z.array(DesiredCondition).max(3).nullable() }),
  /**
   * Seconds from now until the lease of each cluster that the state names expires; sent again as leases are
   * renewed, and in each pause as a sign of life.
   */
  z.strictObject({ leases: z.record(ClusterId, z.number().min(0)) }),
  /** The state is whole up to here. Give it as `after` to resume. */
  z.strictObject({ position: text(128).min(1) }),
]);
export type DesiredLine = Readonly<z.infer<typeof DesiredLine>>;

/**
 * The names of an import's ports in the Service with its cluster IPs, in the same order: beside others a
 * Service takes no unnamed port (422). Slices have such a port under both names.
 */
export function servicePortNames(ports: readonly ServicePort[]): string[] {
  const names = new Set(ports.map(({ name }) => name));
  return ports.map(({ name, protocol, port }) => {
    if (name !== "" || ports.length === 1) return name;
    const base = `${protocol.toLowerCase()}-${port}`;
    let given = base;
    for (let count = 1; names.has(given); count++) given = `${base}-${count}`;
    return given;
  });
}

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Whether an API server takes a text as a qualified name, such as the key of a label: a name, or a DNS
 * subdomain and a name.
 */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf("/");
  return NAME.test(text.slice(slash + 1)) && (slash < 0 || PREFIX.test(text.slice(0, slash)));
}

/** Whether an API server takes a text as the value of a label. */
export function isLabelValue(text: string): boolean {
  return text === "" || NAME.test(text);
}
