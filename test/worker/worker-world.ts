import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { KubernetesSource } from "../../src/worker/kubernetes.ts";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import { openSyncWorker, type SyncWorkerOptions } from "../../src/worker/sync.ts";
import { folderOfTest } from "../folders.ts";
import { ApiServerDouble } from "./api-server-double.ts";
import { GatewayDouble } from "./gateway-double.ts";
import { KeptLogs } from "./logs.ts";

export const serviceYaml = (name: string, port = 80) => `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { clusterIP: 10.0.0.1, ports: [{ port: ${port} }] }
`;
export const exportYaml = (name: string) => `apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: ${name}, namespace: shop }
`;
/** A Service and its export. */
export const bothYaml = (name: string, port?: number) => `${serviceYaml(name, port)}---\n${exportYaml(name)}`;

/** A folder, an API server and gateways around a worker. All of them end with the test, the worker first. */
export class WorkerWorld {
  readonly folder = folderOfTest();
  readonly kubeconfig = join(this.folder, "kubeconfig");
  readonly logs = new KeptLogs();
  readonly gateways: GatewayDouble[] = [];
  #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Starts the API server of the kubeconfig. */
  async startApi(): Promise<ApiServerDouble> {
    const api = await new ApiServerDouble().start();
    onTestFinished(() => api.stop());
    this.write("kubeconfig", api.kubeconfig);
    return api;
  }

  async startGateway(): Promise<GatewayDouble> {
    const gateway = await new GatewayDouble().start();
    onTestFinished(() => gateway.stop());
    this.gateways.push(gateway);
    return gateway;
  }

  /** Runs a source or a worker until `stop`, or until the test ends. */
  run(work: (signal: AbortSignal) => Promise<unknown>): void {
    this.#stop = new AbortController();
    this.#running = work(this.#stop.signal);
    onTestFinished(() => this.stop());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The objects of the API server. */
  cluster(): KubernetesSource {
    return new KubernetesSource({ kubeconfig: this.kubeconfig, clusterIdGiven: true, logger: this.logs });
  }

  /** The objects of the folder. */
  manifests(more: Partial<ConstructorParameters<typeof ManifestSource>[0]> = {}): ManifestSource {
    return new ManifestSource({ directory: this.folder, watch: true, logger: this.logs, ...more });
  }

  /** A worker of cluster east that pushes the API server's objects to all gateways. */
  open(more: Partial<SyncWorkerOptions> = {}, signal = new AbortController().signal) {
    return openSyncWorker({
      source: more.source ?? this.cluster(),
      clusterId: "east",
      gateways: this.gateways.map(({ url }) => url),
      token: "secret",
      once: false,
      signal,
      logger: this.logs,
      ...more,
    });
  }

  work(more?: Partial<SyncWorkerOptions>, signal?: AbortSignal): Promise<void> {
    return this.open(more, signal).run();
  }
}
