import { expect, test } from "vitest";
import { suggestKind } from "../../src/extract/misspelt.ts";

const EXPORT = "kind ServiceExport of multicluster.x-k8s.io/v1beta1";
const IMPORT = "kind ServiceImport of multicluster.x-k8s.io/v1beta1";

test.each([
  // KEP-1645's own examples.
  ["multicluster.k8s.io/v1alpha1", "ServiceExport", EXPORT],
  ["multicluster.k8s.io/v1alpha1", "ServiceImport", IMPORT],
  ["multicluster.x-k8s.io/v1alpha1", "ServiceExprot", EXPORT],
  ["multicluster.x-k8s.io/v1beta1", "Serviceexport", EXPORT],
  ["multicluster.x-k8s.io/v1beta1", "ServiceImports", IMPORT],
  ["multicluster.x-k8s.io/v1beta1", "ServiceImort", IMPORT],
  ["net.gke.io/v1", "ServiceExports", EXPORT],
  ["v1", "ServiceExport", EXPORT],
  ["about.x-k8s.io/v1alpha1", "ClusterProperty", "kind ClusterProperty of about.k8s.io/v1"],
  ["about.k8s.io/v1", "ClusterProperties", "kind ClusterProperty of about.k8s.io/v1"],
  ["v1", "EndpointSlice", "kind EndpointSlice of discovery.k8s.io/v1"],
  ["discovery.k8s.io/v1", "EndPointSlices", "kind EndpointSlice of discovery.k8s.io/v1"],
  ["v1", "service", "kind Service of v1"],
  ["v1", "Servcie", "kind Service of v1"],
  ["v1", "Services", "kind Service of v1"],
  ["core/v1", "Service", "kind Service of v1"],
  ["v1", "NameSpace", "kind Namespace of v1"],
  ["v1", "Pods", "kind Pod of v1"],
])("%s %s yields a finding that suggests %s", (apiVersion, kind, meant) => {
  expect(suggestKind({ apiVersion, kind })).toBe(meant);
});

test.each([
  ["v1", "Service"],
  ["discovery.k8s.io/v1beta1", "EndpointSlice"],
  ["multicluster.x-k8s.io/v1alpha1", "ServiceExport"],
  ["net.gke.io/v1", "ServiceImport"],
  ["about.k8s.io/v1alpha1", "ClusterProperty"],
  ["serving.knative.dev/v1", "Service"],
  ["multicluster.x-k8s.io/v1alpha1", "ClusterProfile"],
  ["multicluster.x-k8s.io/v1alpha1", "Work"],
  ["networking.istio.io/v1", "ServiceEntry"],
  ["monitoring.coreos.com/v1", "ServiceMonitor"],
  ["metrics.k8s.io/v1beta1", "PodMetrics"],
  ["rbac.authorization.k8s.io/v1", "Role"],
  ["batch/v1", "Job"],
  ["v1", "Endpoints"],
  ["v1", "ServiceAccount"],
  ["v1", "ConfigMap"],
  ["v1", "Secret"],
  ["apps/v1", "Deployment"],
])("%s %s yields no finding", (apiVersion, kind) => {
  expect(suggestKind({ apiVersion, kind })).toBeUndefined();
});
