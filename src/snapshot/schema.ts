import * as z from "zod";

const LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";

/** A cluster id: one RFC 1123 label, or two joined by a dot (KEP-1645, Terminology). */
export const CLUSTER_ID = new RegExp(`^${LABEL}(?:\\.${LABEL})?$`);

/** What a cluster id is, for messages. */
export const CLUSTER_ID_RULE =
  "lower-case letters, digits and hyphens, at most 63, or two such labels joined by a dot";

/** Whether `text` is a cluster id, see {@link CLUSTER_ID}. */
export function isClusterId(text: string): boolean {
  return CLUSTER_ID.test(text);
}

/** The version of the snapshot format that this code reads and writes. */
export const SNAPSHOT_FORMAT_VERSION = 1;

// Values that an API server can hold but DNS cannot (odd ports, odd addresses, long names) pass
// this schema on purpose: zone/ turns them into findings, so that one bad object never costs the
// others their answers.
export const text = (most: number) => z.string().max(most);
const port = z.int().min(-2147483648).max(2147483647);

const key = (pattern: RegExp, most: number, says: string) => z.string().max(most).regex(pattern, says);
/** Characters of the longest `<namespace>/<name>`. */
export const LONGEST_OBJECT_KEY = 507;
export const objectKey = key(/^[^/_][^/]*\/[^/]+$/, LONGEST_OBJECT_KEY, 'must be "<namespace>/<name>"');
const namespaceKey = key(/^[a-z0-9][-a-z0-9]*$/, 63, "must be a namespace name");
const labelKey = key(/^[A-Za-z0-9][-A-Za-z0-9_./]*$/, 317, "must be a label or annotation key");
const portSetKey = key(/^[A-Za-z0-9*(][^\s]*$/, 4096, "must be a port set key");
const endpointKey = key(/^[^\s_]+$/, 512, "must be an endpoint key");
const sourceClusterKey = key(
  /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/,
  127,
  "must be a label value",
);
const findingKey = key(/^[A-Za-z0-9][^\s]*$/, 1024, "must be a finding key");

/** A cluster id (KEP-1645, Terminology). */
export const ClusterId = z.string().regex(CLUSTER_ID, "must be one RFC 1123 label, or two joined by a dot");

/** The name of an instance: what a worker reads. */
export const INSTANCE_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** The most clusters that one service is exported to by name. */
export const MOST_CLUSTERS = 512;

/** A port of a Service or a ServiceImport. An unnamed port has the name "". */
export const ServicePort = z.strictObject({
  name: text(63),
  protocol: text(16),
  port,
  appProtocol: text(317).optional(),
});

/** A port of an EndpointSlice: the port on which the endpoints listen. */
export const EndpointPort = z.strictObject({ name: text(63), protocol: text(16), port });

/** One address of one endpoint. Defaults: `ready` and `serving` true, `terminating` false. */
export const Endpoint = z.strictObject({
  address: text(64),
  hostname: text(253).optional(),
  ready: z.boolean().optional(),
  serving: z.boolean().optional(),
  terminating: z.boolean().optional(),
  zone: text(317).optional(),
});

/** Endpoints with the same ports; keyed by address, or `<address>#<hostname>`. */
export const EndpointGroup = z.strictObject({
  ports: z.array(EndpointPort).max(1000),
  members: z.record(endpointKey, Endpoint),
});

/**
 * Endpoint groups by port set key: the ports as `<name>/<protocol>/<number>`, sorted, joined by commas ("*"
 * for none).
 */
export const EndpointGroups = z.record(portSetKey, EndpointGroup);

const globalProperties = {
  ports: z.array(ServicePort).max(1000),
  sessionAffinity: text(63).optional(),
  /** `sessionAffinityConfig.clientIP.timeoutSeconds`. */
  sessionAffinityTimeoutSeconds: z.int().optional(),
  internalTrafficPolicy: text(63).optional(),
  trafficDistribution: text(317).optional(),
};

/**
 * The creation time of an object that has none, such as that of a manifest. It is later than every other, and
 * no claim.
 */
export const UNDATED = "9999-12-31T23:59:59Z";

/**
 * A ServiceExport joined with its Service and that Service's EndpointSlices (KEP-1645, Exporting Services).
 */
export const ExportedService = z.strictObject({
  /** `metadata.creationTimestamp` of the ServiceExport, RFC 3339: decides conflicts, oldest first. */
  exportedAt: z.iso.datetime({ offset: true }),
  /** `spec.type` of the Service: ClusterIP, NodePort or LoadBalancer. */
  serviceType: z.enum(["ClusterIP", "NodePort", "LoadBalancer"]),
  headless: z.boolean(),
  /**
   * The clusters that the service is exported to, beside this one: `status.clusters` of the ServiceExport
   * (kubernetes/enhancements#6329). Absent where the ServiceExport names none: all.
   */
  clusters: z.array(ClusterId).max(MOST_CLUSTERS).optional(),
  ...globalProperties,
  ipFamilies: z
    .array(z.enum(["IPv4", "IPv6"]))
    .max(2)
    .optional(),
  exportedLabels: z.record(labelKey, text(63)).optional(),
  exportedAnnotations: z.record(labelKey, text(262144)).optional(),
  publishNotReadyAddresses: z.boolean().optional(),
  clusterIPs: z.array(text(64)).max(2).optional(),
  /** `status.loadBalancer.ingress`: an address or a host name each. */
  loadBalancer: z
    .array(z.strictObject({ ip: text(64).optional(), hostname: text(253).optional() }))
    .max(100)
    .optional(),
  externalIPs: z.array(text(64)).max(100).optional(),
  /**
   * The Service's node ports, and addresses of nodes that listen on them: only if the worker reports nodes
   * (`--node-addresses`).
   */
  nodes: z
    .strictObject({ ports: z.array(EndpointPort).max(1000), addresses: z.array(text(64)).max(100) })
    .optional(),
  endpoints: EndpointGroups,
});

/**
 * A ServiceImport that an MCS implementation keeps, with its EndpointSlices (KEP-1645, Importing Services).
 */
export const ImportedService = z.strictObject({
  /**
   * Made by the cluster's own worker from the gateway's desired state: its `ips` count in that cluster's
   * view, and nothing else of it does.
   */
  managed: z.literal(true).optional(),
  /** `spec.type`; absent if the object has none. */
  type: text(63).optional(),
  ips: z.array(text(64)).max(16),
  ...globalProperties,
  /** By the value of the label `multicluster.kubernetes.io/source-cluster`, unchanged ("" allowed). */
  endpoints: z.record(sourceClusterKey, EndpointGroups),
});

/**
 * A Service of the cluster with its EndpointSlices, for the cluster's own zone (DNS-based service discovery
 * 1.0.1).
 */
export const LocalService = z.strictObject({
  /** `metadata.creationTimestamp` of the Service, RFC 3339: the older object wins if two claim one name. */
  createdAt: z.iso.datetime({ offset: true }),
  serviceType: z.enum(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
  headless: z.boolean(),
  ports: z.array(ServicePort).max(1000),
  clusterIPs: z.array(text(64)).max(2).optional(),
  publishNotReadyAddresses: z.boolean().optional(),
  /** ExternalName: the CNAME target. */
  externalName: text(253).optional(),
  /**
   * ExternalName: the dotted name below the namespace that it owns instead of its own (multi-label CNAME).
   */
  ownedName: text(253).optional(),
  endpoints: EndpointGroups,
});

/** Which pods have address names (`a-b-c-d.<ns>.pod.<zone>`): none, any address, or those of real pods. */
export const PodNames = z.enum(["disabled", "insecure", "verified"]);

/** The cluster's own zone, if the gateway should serve one. */
export const ClusterZone = z.strictObject({
  /** Zone name in text, e.g. `cluster.local`. */
  name: text(255),
  pods: PodNames,
});

/** A reason why an object, or a part of it, is not served. */
export const Finding = z.strictObject({
  /** Stable reason, e.g. `InvalidServiceType` (KEP-1645) or `NoService`. */
  reason: text(63).min(1),
  kind: text(63).min(1),
  namespace: text(253).optional(),
  name: text(253),
  message: text(4096),
});

/** Everything that the gateway knows about one cluster. */
export const ClusterSnapshot = z.strictObject({
  formatVersion: z.literal(SNAPSHOT_FORMAT_VERSION),
  clusterId: ClusterId,
  /** From the labels `topology.kubernetes.io/region` and `/zone` of the nodes. */
  topology: z
    .strictObject({ region: text(63).optional(), zones: z.array(text(63)).max(1000).optional() })
    .optional(),
  namespaces: z.record(namespaceKey, z.strictObject({})),
  exports: z.record(objectKey, ExportedService),
  imports: z.record(objectKey, ImportedService),
  /** The cluster's own zone; absent if it is not served. */
  clusterZone: ClusterZone.optional(),
  /** The cluster's own Services, for its zone. */
  services: z.record(objectKey, LocalService).default({}),
  /** Addresses of pods as `<namespace>/<address>`, for the names of verified pods. */
  pods: z.record(objectKey, z.strictObject({})).default({}),
  findings: z.record(findingKey, Finding),
});

export type ServicePort = z.infer<typeof ServicePort>;
export type EndpointPort = z.infer<typeof EndpointPort>;
export type Endpoint = z.infer<typeof Endpoint>;
export type EndpointGroup = z.infer<typeof EndpointGroup>;
export type EndpointGroups = z.infer<typeof EndpointGroups>;
export type ExportedService = z.infer<typeof ExportedService>;
export type ImportedService = z.infer<typeof ImportedService>;
export type LocalService = z.infer<typeof LocalService>;
export type ClusterZone = z.infer<typeof ClusterZone>;
export type Finding = z.infer<typeof Finding>;
export type ClusterSnapshot = z.infer<typeof ClusterSnapshot>;
