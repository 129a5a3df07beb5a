const PHASE = { key: ".status.phase" };
const NOT_READY = {
  key: '.status.conditions.[] | select( .type == "Ready" ) | .status',
  operator: "NotIn",
  values: ["True"],
};

/**
 * What kwok does for a kubelet: a node and its pods are ready at once, and a deleted pod is gone at once.
 * JSON is YAML.
 */
export const kwokStages: readonly object[] = [
  stage("node-ready", "Node", [NOT_READY], {
    statusTemplate: `
conditions:
- { type: Ready, status: "True", reason: KubeletReady, message: kwok, lastTransitionTime: {{ Now | Quote }}, lastHeartbeatTime: {{ Now | Quote }} }
addresses:
- { type: InternalIP, address: {{ NodeIP | Quote }} }
daemonEndpoints:
  kubeletEndpoint: { Port: {{ NodePort }} }
`,
  }),
  stage("pod-ready", "Pod", [deletion("DoesNotExist"), { ...PHASE, operator: "In", values: ["Pending"] }], {
    statusTemplate: `
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
hostIP: {{ NodeIP | Quote }}
conditions:
{{ range $type := list "PodScheduled" "Initialized" "ContainersReady" "Ready" }}
- { type: {{ $type }}, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- { name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0, state: { running: { startedAt: {{ $now | Quote }} } } }
{{ end }}
{{ $ips := PodIPsWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index $ips 0 | Quote }}
podIPs:
{{ range $ips }}
- { ip: {{ . | Quote }} }
{{ end }}
`,
  }),
  stage("pod-delete", "Pod", [deletion("Exists")], { delete: true }),
];

function deletion(operator: "Exists" | "DoesNotExist"): object {
  return { key: ".metadata.deletionTimestamp", operator };
}

function stage(name: string, kind: string, matchExpressions: readonly object[], next: object): object {
  return {
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions }, next },
  };
}
