import { setTimeout as sleep } from "node:timers/promises";
import { kubeconfigOfControl } from "../../test/e2e/harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startSync } from "../../test/e2e/harness/processes.ts";
import type { ApiServer } from "../../test/e2e/servers/kubernetes/api-server.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { pidOf } from "../cpu/contenders.ts";
import type { Stop } from "../processes/stops.ts";
import type { Progress } from "../report/report.ts";
import { SliceWatch } from "./slice-watch.ts";

const WRITES = /^clusterset_doh_control_writes_total\{verb="(\w+)",kind="([\w/]+)"\} (\d+)$/gm;

/** Between two looks at the worker, in milliseconds, and how many there are between two lines of progress. */
const POLL = 100;
const PROGRESS_EVERY = 100;

/** A sync worker with `--control`, what it reports, and the slices that it writes. */
export class ControlWorker {
  readonly slices: SliceWatch;
  readonly #process: SyncProcess;
  readonly #metricsUrl: string;

  private constructor(slices: SliceWatch, process: SyncProcess, metricsUrl: string) {
    this.slices = slices;
    this.#process = process;
    this.#metricsUrl = metricsUrl;
  }

  static async start(clusterId: string, server: ApiServer, gateway: GatewayProcess, stops: Stop[]) {
    const slices = new SliceWatch(server.admin);
    stops.push(() => slices.close());
    const listen = `127.0.0.1:${await freePort()}`;
    const kubeconfig = await kubeconfigOfControl(server);
    const args = ["--control", "--listen", listen, "--log-level", "warn"];
    const process = startSync({ clusterId, kubeconfig, gateways: [gateway], args });
    stops.push(() => process.stop());
    return new ControlWorker(slices, process, `http://${listen}/metrics`);
  }

  /** Writes to the API server since the worker's start, by verb and kind. */
  async writes(): Promise<Map<string, number>> {
    const found = (await this.#metrics()).matchAll(WRITES);
    return new Map([...found].map(([, verb, kind, count]) => [`${verb} ${kind}`, Number(count)]));
  }

  /**
   * Waits until the cluster has so many imported slices and the worker has nothing left to write.
   * @throws {Error} after `deadline` milliseconds
   */
  async untilHeld(slices: number, deadline: number, progress: Progress = () => {}): Promise<void> {
    const end = performance.now() + deadline;
    for (let poll = 0; ; poll++) {
      const text = await this.#metrics().catch(() => "");
      const pending = Number(/^clusterset_doh_control_pending (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
      const leads = text.includes("\nclusterset_doh_control_leader 1\n");
      if (leads && pending === 0 && this.slices.held.size === slices) return;
      const state = `${this.slices.held.size} of ${slices} imported slices, ${pending} names pending`;
      if (performance.now() > end) throw new Error(`not within ${deadline} ms: ${state}`);
      if (poll % PROGRESS_EVERY === PROGRESS_EVERY - 1) progress(state);
      await sleep(POLL);
    }
  }

  /** The id of the process; another one after `restart`. */
  get pid(): number {
    return pidOf(this.#process.process);
  }

  stop(): Promise<unknown> {
    return this.#process.stop();
  }

  restart(): Promise<void> {
    return this.#process.restart();
  }

  async #metrics(): Promise<string> {
    return (await fetch(this.#metricsUrl)).text();
  }
}
