/** A store in a real Durable Object, behind HTTP: `POST /<name of the object>/<what to do>`. */
import { DurableObject } from "cloudflare:workers";
import { snapshotOf } from "../../../../src/snapshot/lines/held-state.ts";
import { createDurableObjectStore } from "../../../../src/store/rows/durable-object-store.ts";
import type { SnapshotStore, StoreChange, StoredCluster } from "../../../../src/store/store.ts";

interface Environment {
  readonly STORE: DurableObjectNamespace;
}

/** What `POST /<name>/keep` has as its body. */
export interface KeepRequest {
  readonly clusterId: string;
  readonly change: StoreChange;
}

export class StoreObject extends DurableObject<Environment> {
  readonly #warnings: string[] = [];
  readonly #store: SnapshotStore;

  constructor(state: DurableObjectState, environment: Environment) {
    super(state, environment);
    this.#store = createDurableObjectStore(state.storage, {
      onWarning: ({ code }) => this.#warnings.push(code),
    });
  }

  override async fetch(request: Request): Promise<Response> {
    const action = new URL(request.url).pathname.split("/")[2];
    try {
      return Response.json({ result: (await this.#act(action, request)) ?? null, warnings: this.#warnings });
    } catch (error) {
      return new Response(error instanceof Error ? error.message : String(error), { status: 500 });
    }
  }

  async #act(action: string | undefined, request: Request): Promise<unknown> {
    if (action === "load") {
      const clusters: StoredCluster[] = [];
      for await (const cluster of this.#store.load())
        clusters.push({
          ...cluster,
          snapshot: snapshotOf(cluster.clusterId, this.#store.entries!(cluster.clusterId)),
        });
      return clusters;
    }
    if (action === "remove") return this.#store.remove(await request.text());
    if (action === "keep") {
      const { clusterId, change } = await request.json<KeepRequest>();
      return this.#store.keep(clusterId, change);
    }
    // What is written is durable by then, or would be lost with a crash too.
    if (action === "crash") this.ctx.abort("as asked");
    throw new Error(`there is no ${action}`);
  }
}

export default {
  async fetch(request, environment) {
    const name = new URL(request.url).pathname.split("/")[1]!;
    if (name === "healthz") return new Response("ok\n");
    try {
      return await environment.STORE.getByName(name).fetch(request);
    } catch (error) {
      return new Response(`the object is gone: ${error}`, { status: 503 });
    }
  },
} satisfies ExportedHandler<Environment>;
