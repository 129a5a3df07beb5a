import type { KubeObject } from "../../servers/kubernetes/objects.ts";

/** Where a client pod takes lines of a shell script. */
export const CLIENT_PORT = 7000;
/** Where the pods of `serverPods` listen. */
export const SERVER_PORT = 8080;

/** A pod that runs the shell script of each connection and returns its output. */
export function clientPod(): KubeObject {
  return pod("default", "client", {}, ["socat", listener(CLIENT_PORT), "EXEC:/bin/sh"]);
}

/**
 * Two pods of a Service with the selector `{ app: <name> }`. Each answers a connection with
 * `<cluster> <pod>`, in both families.
 */
export function serverPods(cluster: string, namespace: string, app: string): KubeObject[] {
  return [`${app}-0`, `${app}-1`].map((name) =>
    pod(namespace, name, { app }, ["socat", listener(SERVER_PORT), `SYSTEM:echo ${cluster} ${name}`]),
  );
}

function listener(port: number): string {
  return `TCP6-LISTEN:${port},ipv6only=0,reuseaddr,fork`;
}

function pod(namespace: string, name: string, labels: Record<string, string>, command: string[]): KubeObject {
  const container = { name: "main", image: "none", command };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels },
    spec: { containers: [container] },
  };
}
