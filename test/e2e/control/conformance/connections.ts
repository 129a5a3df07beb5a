import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ApiClient } from "../../servers/kubernetes/api-client.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import { ensureTools } from "../../servers/tools/tools.ts";
import type { ClusterName } from "./clusters.ts";
import { CLUSTER_TOOLS, isolated } from "./isolated.ts";

/** What the program in the namespace does in a cluster. */
export type Call = { id: number; cluster: ClusterName } & Action;
type Action =
  | { action: "get"; object: KubeObject }
  | { action: "list"; path: string }
  | { action: "apply"; objects: KubeObject[] }
  | { action: "remove"; objects: KubeObject[] }
  | { action: "resolve"; name: string; type: "A" | "AAAA" }
  | { action: "run"; script: string };

/** What it returns; id 0 once it has started. */
export type Answer = { id: number; value: unknown } | { id: number; error: string };

/** The two clusters, from outside of their network namespace. */
export interface IsolatedClusters {
  of(cluster: ClusterName): IsolatedCluster;
  stop(): Promise<void>;
}

/** One of them. */
export interface IsolatedCluster {
  admin: Pick<ApiClient, "get" | "api" | "apply" | "remove">;
  /** What the gateway answers to the cluster's pods; without addresses the error code, such as ENOTFOUND. */
  resolve(name: string, type: "A" | "AAAA"): Promise<string[] | string>;
  /**
   * Connects from a pod, that many times; returns the distinct answers, sorted, with "none" for a connection
   * that fails.
   */
  connect(address: string, port: number, times: number): Promise<string[]>;
}

/** Starts both clusters in namespaces of their own, with a pod for clients in each. Needs root. */
export async function startIsolatedClusters(): Promise<IsolatedClusters> {
  await ensureTools(CLUSTER_TOOLS, console.error);
  const line = isolated(join(import.meta.dirname, "connections-in-namespace.ts"));
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", ...line], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const answerTo = (id: number) =>
    new Promise<unknown>((resolve, reject) => void open.set(id, { resolve, reject }));
  const started = answerTo(0);
  child.on("message", (answer: Answer) => {
    const waiting = open.get(answer.id)!;
    open.delete(answer.id);
    if ("error" in answer) waiting.reject(new Error(answer.error));
    else waiting.resolve(answer.value);
  });
  child.once("exit", (code, signal) => {
    for (const { reject } of open.values()) reject(new Error(`the clusters have ended: ${code ?? signal}`));
  });
  let calls = 0;
  const call = (cluster: ClusterName, action: Action) => {
    const id = ++calls;
    child.send({ id, cluster, ...action });
    return answerTo(id);
  };
  await started;
  return {
    of: (cluster) => clusterThrough((action) => call(cluster, action)),
    stop: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

function clusterThrough(call: (action: Action) => Promise<unknown>): IsolatedCluster {
  return {
    admin: {
      get: (object) => call({ action: "get", object }) as Promise<KubeObject>,
      api: <T>(_: string, path: string) => call({ action: "list", path }) as Promise<T>,
      apply: (...objects) => call({ action: "apply", objects }) as Promise<KubeObject[]>,
      remove: (...objects) => call({ action: "remove", objects }) as Promise<void>,
    },
    resolve: (name, type) => call({ action: "resolve", name, type }) as Promise<string[] | string>,
    async connect(address, port, times) {
      const target = `TCP:${address.includes(":") ? `[${address}]` : address}:${port},connect-timeout=5`;
      const script = `for i in $(seq ${times}); do socat -u ${target} - 2>/dev/null || echo none; done`;
      const output = await call({ action: "run", script });
      return [...new Set((output as string).trim().split("\n"))].sort();
    },
  };
}
