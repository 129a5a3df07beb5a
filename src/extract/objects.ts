/**
 * The parts of Kubernetes objects that this folder reads. Leaves are `unknown` on purpose: the MCS CRDs validate
 * little, and manifests have no validation, so the functions in fields.ts read every leaf.
 */
export interface KubernetesObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: ObjectMeta;
}

/** `metadata` of any object. */
export interface ObjectMeta {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly uid?: unknown;
  /** RFC 3339 text. */
  readonly creationTimestamp?: unknown;
  /** RFC 3339 text; present while the object is being deleted. */
  readonly deletionTimestamp?: unknown;
  readonly labels?: unknown;
  readonly annotations?: unknown;
}

/** The global properties that a Service and a ServiceImport have in common. */
export interface ServiceProperties {
  /** A list of `{name, protocol, port, appProtocol}`, of a Service also `nodePort`. */
  readonly ports?: unknown;
  readonly sessionAffinity?: unknown;
  readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: unknown } };
  readonly internalTrafficPolicy?: unknown;
  readonly trafficDistribution?: unknown;
}

/** `v1` Service. */
export interface Service extends KubernetesObject {
  readonly spec?: ServiceProperties & {
    readonly type?: unknown;
    readonly clusterIP?: unknown;
    readonly clusterIPs?: unknown;
    readonly ipFamilies?: unknown;
    readonly externalIPs?: unknown;
    readonly externalTrafficPolicy?: unknown;
    readonly publishNotReadyAddresses?: unknown;
    readonly externalName?: unknown;
    /** Proposed (multi-label CNAME records), in manifests only: API servers drop it. */
    readonly name?: unknown;
  };
  /** `ingress` is a list of `{ip, hostname}`. */
  readonly status?: { readonly loadBalancer?: { readonly ingress?: unknown } };
}

/** `discovery.k8s.io/v1` EndpointSlice. */
export interface EndpointSlice extends KubernetesObject {
  /** IPv4, IPv6 or FQDN. */
  readonly addressType?: unknown;
  /** A list of `{name, protocol, port}`. */
  readonly ports?: unknown;
  /** A list of {@link SliceEndpoint}. */
  readonly endpoints?: unknown;
}

/** One element of an EndpointSlice's `endpoints`. */
export interface SliceEndpoint {
  readonly addresses?: unknown;
  readonly hostname?: unknown;
  readonly zone?: unknown;
  readonly nodeName?: unknown;
  readonly conditions?: {
    readonly ready?: unknown;
    readonly serving?: unknown;
    readonly terminating?: unknown;
  };
}

/** ServiceExport of `multicluster.x-k8s.io` or `net.gke.io`. */
export interface ServiceExport extends KubernetesObject {
  readonly spec?: { readonly exportedLabels?: unknown; readonly exportedAnnotations?: unknown };
}

/** ServiceImport of `multicluster.x-k8s.io` or `net.gke.io`. */
export interface ServiceImport extends KubernetesObject {
  readonly spec?: ServiceProperties & { readonly type?: unknown; readonly ips?: unknown };
}

/** `v1` Node. */
export interface Node extends KubernetesObject {
  /** `addresses` is a list of `{type, address}`, `conditions` one of `{type, status}`. */
  readonly status?: { readonly addresses?: unknown; readonly conditions?: unknown };
}

/** `v1` Pod. */
export interface Pod extends KubernetesObject {
  /** `podIPs` is a list of `{ip}`. */
  readonly status?: { readonly phase?: unknown; readonly podIP?: unknown; readonly podIPs?: unknown };
}

/** ClusterProperty of `about.k8s.io` (KEP-2149). */
export interface ClusterProperty extends KubernetesObject {
  readonly spec?: { readonly value?: unknown };
}
