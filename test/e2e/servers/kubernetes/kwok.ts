import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificateFor } from "../certificate.ts";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { ensureTool } from "../tools/tools.ts";
import { waitFor } from "../wait.ts";
import type { ApiServer } from "./api-server.ts";
import type { KubeObject } from "./objects.ts";

/** The node that kwok plays the kubelet of. */
export interface FakeNode {
  name: string;
  /** Its InternalIP; that of this machine by default. */
  address?: string;
  /** The ranges that its pods get their addresses from, one a family. */
  podCidrs: readonly string[];
  /** The folder with the program `sh` that commands run with in containers. */
  shell: string;
}

/** Starts a kwok for one node that every new pod gets; commands in containers run on this machine. */
export async function startKwok(server: ApiServer, node: FakeNode): Promise<ServerProcess> {
  const kwok = await ensureTool("kwok");
  const port = await freePort();
  const { certPath, keyPath } = await certificateFor(server.folder);
  const config = join(server.folder, "kwok.yaml");
  writeFileSync(config, [localCommands, ...kwokStages].map((one) => JSON.stringify(one)).join("\n---\n"));
  await server.admin.apply(...admission(node.name), nodeObject(node));
  const process = await ServerProcess.start({
    name: "kwok",
    command: kwok,
    args: [
      `--kubeconfig=${server.kubeconfig()}`,
      `--config=${config}`,
      `--manage-single-node=${node.name}`,
      `--node-ip=${node.address ?? "127.0.0.1"}`,
      `--node-port=${port}`,
      `--tls-cert-file=${certPath}`,
      `--tls-private-key-file=${keyPath}`,
    ],
    env: { PATH: `${node.shell}:${globalThis.process.env.PATH}` },
    folder: server.folder,
    ready: async () => {
      const { status } = (await server.admin.get(nodeObject(node))) as unknown as {
        status: { daemonEndpoints: { kubeletEndpoint: { Port: number } } };
      };
      return status.daemonEndpoints.kubeletEndpoint.Port === port;
    },
  });
  await waitFor("the admission policy", async () => {
    const probe = { apiVersion: "v1", kind: "Pod", metadata: { name: "probe", namespace: "default" } };
    const path = "/api/v1/namespaces/default/pods?dryRun=All";
    const spec = { containers: [{ name: "probe", image: "probe" }] };
    const made = await server.admin.api<{ spec: { nodeName?: string } }>("POST", path, { ...probe, spec });
    return made.spec.nodeName === node.name;
  });
  return process;
}

const localCommands = {
  apiVersion: "kwok.x-k8s.io/v1alpha1",
  kind: "ClusterExec",
  metadata: { name: "local" },
  spec: { execs: [{ local: {} }] },
};

function nodeObject({ name, podCidrs }: FakeNode): KubeObject {
  const spec = { podCIDR: podCidrs[0], podCIDRs: podCidrs };
  return { apiVersion: "v1", kind: "Node", metadata: { name }, spec };
}

function admission(nodeName: string): KubeObject[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "node" };
  const pods = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  const expression = `Object{spec: Object.spec{nodeName: "${nodeName}"}}`;
  const policy = {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules: [pods] },
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
  };
  return [
    { apiVersion, kind: "MutatingAdmissionPolicy", metadata, spec: policy },
    { apiVersion, kind: "MutatingAdmissionPolicyBinding", metadata, spec: { policyName: metadata.name } },
  ];
}

const PHASE = { key: ".status.phase" };
const NOT_READY = {
  key: '.status.conditions.[] | select( .type == "Ready" ) | .status',
  operator: "NotIn",
  values: ["True"],
};

/** What kwok does for a kubelet: a node and its pods are ready, and a deleted pod gone, at once. */
const kwokStages: readonly object[] = [
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
