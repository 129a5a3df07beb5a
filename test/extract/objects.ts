import type { KubernetesObject } from "../../src/extract/objects.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Any object; `fields` are its other members, `metadata` may add to or replace name and namespace. */
export function object(
  apiVersion: string,
  kind: string,
  place: string,
  fields: Fields = {},
  metadata: Fields = {},
) {
  const slash = place.indexOf("/");
  const named =
    slash < 0 ? { name: place } : { namespace: place.slice(0, slash), name: place.slice(slash + 1) };
  return { apiVersion, kind, ...fields, metadata: { ...named, ...metadata } } satisfies KubernetesObject;
}

export const namespace = (name: string, metadata: Fields = {}) =>
  object("v1", "Namespace", name, {}, metadata);

export const node = (name: string, labels: Fields) => object("v1", "Node", name, {}, { labels });

export const service = (place: string, spec: Fields = {}, status: Fields = {}) =>
  object("v1", "Service", place, {
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.10",
      clusterIPs: ["10.96.0.10"],
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }],
      ...spec,
    },
    status,
  });

export const pod = (place: string, status: Fields = {}, metadata: Fields = {}) =>
  object("v1", "Pod", place, { status }, metadata);

export const serviceExport = (
  place: string,
  spec: Fields = {},
  metadata: Fields = {},
  apiVersion = "multicluster.x-k8s.io/v1beta1",
  status: Fields = {},
) =>
  object(
    apiVersion,
    "ServiceExport",
    place,
    { spec, status },
    { creationTimestamp: "2026-01-02T03:04:05Z", ...metadata },
  );

export const serviceImport = (
  place: string,
  spec: Fields = {},
  apiVersion = "multicluster.x-k8s.io/v1beta1",
) =>
  object(apiVersion, "ServiceImport", place, {
    spec: { type: "ClusterSetIP", ips: ["10.42.0.1"], ports: [{ port: 80 }], ...spec },
  });

export const slice = (place: string, labels: Fields, endpoints: unknown, fields: Fields = {}) =>
  object(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    place,
    { addressType: "IPv4", ports: [{ name: "http", protocol: "TCP", port: 8080 }], endpoints, ...fields },
    { labels },
  );

export const ofService = (name: string) => ({ "kubernetes.io/service-name": name });

export const ofImport = (name: string, cluster: string) => ({
  "multicluster.kubernetes.io/service-name": name,
  "multicluster.kubernetes.io/source-cluster": cluster,
});

export const clusterProperty = (name: string, value: unknown) =>
  object("about.k8s.io/v1beta1", "ClusterProperty", name, { spec: { value } });
