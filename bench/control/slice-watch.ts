import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../test/e2e/servers/kubernetes/api-client.ts";
import {
  type KubeObject,
  multiclusterServiceLabel,
  sourceClusterLabel,
} from "../../test/e2e/servers/kubernetes/objects.ts";

const PATH = `/apis/discovery.k8s.io/v1/endpointslices?watch=true&timeoutSeconds=7200&labelSelector=${sourceClusterLabel}`;
const DEADLINE = 30_000;
/** Between two watches, in milliseconds. */
const PAUSE = 200;

interface Waiting {
  readonly name: string;
  readonly address: string;
  readonly resolve: (at: number) => void;
}

/** Watches the imported EndpointSlices of one cluster. */
export class SliceWatch {
  /** The names of the slices that the cluster has. */
  readonly held = new Set<string>();
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;
  #waiting: Waiting | undefined;

  constructor(admin: ApiClient) {
    this.#ended = this.#watch(admin);
  }

  /**
   * Waits until a slice of that imported service has exactly this address; the `performance.now()` of its
   * event.
   * @throws {Error} where that takes too long
   */
  waitForAddress(name: string, address: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no EndpointSlice of ${name} has ${address}`));
      const timer = setTimeout(late, DEADLINE);
      const found = (at: number) => {
        clearTimeout(timer);
        resolve(at);
      };
      this.#waiting = { name, address, resolve: found };
    });
  }

  close(): Promise<void> {
    this.#end.abort();
    return this.#ended;
  }

  /**
   * An API server ends watches when it likes, above all while it starts. A new one begins with all objects.
   */
  async #watch(admin: ApiClient): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      this.held.clear();
      try {
        await admin.watch(PATH, ({ type, object }) => this.#take(type, object), signal);
      } catch (error) {
        if (!signal.aborted) console.error("the watch of EndpointSlices ended:", error);
      }
      await sleep(PAUSE, undefined, { signal }).catch(() => undefined);
    }
  }

  #take(type: string, object: KubeObject): void {
    const at = performance.now();
    if (type === "ERROR") throw new Error(JSON.stringify(object));
    const { metadata } = object;
    const slice = `${metadata.namespace}/${metadata.name}`;
    if (type === "DELETED") this.held.delete(slice);
    else this.held.add(slice);
    const waiting = this.#waiting;
    if (waiting === undefined || metadata.labels?.[multiclusterServiceLabel] !== waiting.name) return;
    const addresses = (object.endpoints as { addresses: string[] }[]).flatMap((one) => one.addresses);
    if (addresses.length !== 1 || addresses[0] !== waiting.address) return;
    this.#waiting = undefined;
    waiting.resolve(at);
  }
}
