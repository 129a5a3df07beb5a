export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; [field: string]: unknown };
  [field: string]: unknown;
}

/** The label of EndpointSlices that names the cluster that their endpoints are in. */
export const sourceClusterLabel = "multicluster.kubernetes.io/source-cluster";
/** The label of EndpointSlices that names the imported service that they belong to. */
export const multiclusterServiceLabel = "multicluster.kubernetes.io/service-name";
/** The label of EndpointSlices that names the Service of the cluster that they belong to. */
export const serviceLabel = "kubernetes.io/service-name";

const pluralOf: Record<string, string> = {
  ClusterProperty: "clusterproperties",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  NetworkPolicy: "networkpolicies",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
};

export function pathOf(object: KubeObject): string {
  const { apiVersion, kind, metadata } = object;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = metadata.namespace ? `/namespaces/${metadata.namespace}` : "";
  return `${root}${namespace}/${pluralOf[kind] ?? `${kind.toLowerCase()}s`}/${encodeURIComponent(metadata.name)}`;
}

export function namespace(name: string): KubeObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

export function service(namespace: string, name: string, spec: object): KubeObject {
  return { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec };
}

export function serviceExport(namespace: string, name: string, spec: object = {}): KubeObject {
  const apiVersion = "multicluster.x-k8s.io/v1beta1";
  return { apiVersion, kind: "ServiceExport", metadata: { namespace, name }, spec };
}

export function serviceImport(namespace: string, name: string, spec: object): KubeObject {
  const apiVersion = "multicluster.x-k8s.io/v1beta1";
  return { apiVersion, kind: "ServiceImport", metadata: { namespace, name }, spec };
}

/** A ClusterProperty, such as `cluster.clusterset.k8s.io`, which holds the cluster id. */
export function clusterProperty(name: string, value: string): KubeObject {
  return { apiVersion: "about.k8s.io/v1beta1", kind: "ClusterProperty", metadata: { name }, spec: { value } };
}

/** What varies between EndpointSlices; `ports` and `endpoints` as in Kubernetes. */
export interface SliceOptions {
  addressType?: "IPv4" | "IPv6" | "FQDN";
  ports?: object[];
  endpoints: object[];
  labels?: Record<string, string>;
}

/** An EndpointSlice; its labels decide which Service or ServiceImport it belongs to. */
export function endpointSlice(namespace: string, name: string, options: SliceOptions): KubeObject {
  const { addressType = "IPv4", ports = [], endpoints, labels = {} } = options;
  const metadata = { namespace, name, labels };
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata,
    addressType,
    ports,
    endpoints,
  };
}

/** An EndpointSlice of a cluster's own Service. */
export function serviceSlice(
  namespace: string,
  service: string,
  options: SliceOptions,
  name = `${service}-own`,
): KubeObject {
  return endpointSlice(namespace, name, {
    ...options,
    labels: { [serviceLabel]: service, ...options.labels },
  });
}

/** An EndpointSlice that an MCS implementation has imported from `sourceCluster`. */
export function importedSlice(
  namespace: string,
  service: string,
  sourceCluster: string,
  options: SliceOptions,
  name = `${service}-${sourceCluster.toLowerCase()}`,
): KubeObject {
  const own = { [multiclusterServiceLabel]: service, [sourceClusterLabel]: sourceCluster };
  return endpointSlice(namespace, name, { ...options, labels: { ...own, ...options.labels } });
}
