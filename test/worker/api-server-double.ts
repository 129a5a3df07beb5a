import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { freePort } from "../e2e/servers/ports.ts";

interface Stored {
  readonly metadata: Record<string, unknown>;
  readonly [field: string]: unknown;
}

interface Watcher {
  readonly path: string;
  readonly response: ServerResponse;
}

const GONE = {
  type: "ERROR",
  object: { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" },
};

/**
 * A test API server with paged lists and watches; tests make it restart, compact, forbid and lose resources.
 */
export class ApiServerDouble {
  /** Objects by collection path without the version, then by `<namespace>/<name>`. */
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #events: { collection: string; version: number; type: string; object: Stored }[] = [];
  readonly #watchers = new Set<Watcher>();
  /** Served versions by API group. */
  readonly served = new Map<string, string[]>([["multicluster.x-k8s.io", ["v1alpha1", "v1beta1"]]]);
  /** Error statuses by path (of a list or watch, without query). */
  readonly refuse = new Map<string, number>();
  /** The same for watches alone. */
  readonly refuseWatches = new Map<string, number>();
  ready = true;
  /** Watches from before this resource version get 410. */
  compacted = 0;
  /** Every request, as `path?query`. */
  readonly seen: string[] = [];
  /** Called before each page of a list; a promise delays the page. */
  beforePage: (url: URL) => Promise<void> | void = () => undefined;
  #version = 1;
  #server: Server | undefined;
  #port = 0;

  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${this.#port}` } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "" } }],
      "current-context": "x",
    });
  }

  async start(): Promise<this> {
    this.#port ||= await freePort();
    const server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#server = server;
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#watchers.clear();
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  }

  /**
   * Creates or changes an object; `collection` is e.g. `/api/services` or
   * `/apis/discovery.k8s.io/endpointslices`.
   */
  put(collection: string, object: { metadata?: object }): void {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) } as Record<
      string,
      unknown
    >;
    const stored: Stored = { ...object, metadata };
    const objects = this.#collection(collection);
    const key = `${metadata.namespace}/${metadata.name}`;
    this.#record(collection, objects.has(key) ? "MODIFIED" : "ADDED", stored);
    objects.set(key, stored);
  }

  remove(collection: string, key: string): void {
    const objects = this.#collection(collection);
    const object = objects.get(key)!;
    objects.delete(key);
    this.#version++;
    this.#record(collection, "DELETED", {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#version) },
    });
  }

  /**
   * Drops the past events, as etcd's compaction does: no watch can request them, and one that stays open gets
   * 410.
   */
  compact(change: () => void, { closesWatches = true } = {}): void {
    for (const { response } of this.#watchers)
      if (closesWatches) response.end();
      else response.write(`${JSON.stringify(GONE)}\n`);
    this.#watchers.clear();
    change();
    this.#events.length = 0;
    this.compacted = ++this.#version;
  }

  /** Writes an event to the open watches of a collection. */
  send(collection: string, type: string, object: object): void {
    for (const { path, response } of this.#watchers)
      if (path === collection) response.write(`${JSON.stringify({ type, object })}\n`);
  }

  watchers(collection: string): number {
    return [...this.#watchers].filter(({ path }) => path === collection).length;
  }

  closeWatches(how: "end" | "destroy"): void {
    for (const { response } of this.#watchers)
      if (how === "end") response.end();
      else response.socket?.destroy();
    this.#watchers.clear();
  }

  #collection(path: string): Map<string, Stored> {
    let objects = this.#objects.get(path);
    if (objects === undefined) {
      objects = new Map();
      this.#objects.set(path, objects);
    }
    return objects;
  }

  #record(collection: string, type: string, object: Stored): void {
    this.#events.push({ collection, version: this.#version, type, object });
    this.send(collection, type, object);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, "http://api");
    this.seen.push(`${url.pathname}${url.search}`);
    const json = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const watched = url.searchParams.get("watch") === "true";
    const refused =
      this.refuse.get(url.pathname) ?? (watched ? this.refuseWatches.get(url.pathname) : undefined);
    if (refused !== undefined) return json(refused, { kind: "Status", code: refused, message: "as asked" });
    if (url.pathname === "/readyz") return json(this.ready ? 200 : 500, {});
    if (url.pathname === "/apis") {
      const groups = Array.from(this.served, ([name, versions]) => ({
        name,
        versions: versions.map((version) => ({ version })),
      }));
      return json(200, { groups });
    }
    const [, root, rest] = /^\/(api|apis)\/(.*)$/.exec(url.pathname) ?? [];
    const parts = (rest ?? "").split("/");
    const [group, version, resource] = root === "api" ? ["", ...parts] : parts;
    const custom = group !== "" && group !== "discovery.k8s.io";
    if (custom && !this.served.get(group!)?.includes(version!))
      return json(404, { message: "no such version" });
    if (resource === undefined)
      return json(200, { resources: [{ name: "serviceexports" }, { name: "serviceimports" }] });
    const collection = root === "api" ? `/api/${resource}` : `/apis/${group}/${resource}`;
    if (watched) return this.#watch(url, collection, response, json);
    await this.beforePage(url);
    return this.#list(url, collection, json);
  }

  #list(url: URL, collection: string, json: (status: number, body: object) => void): void {
    const all = [...this.#collection(collection).values()];
    const limit = Number(url.searchParams.get("limit") ?? all.length);
    const [from, version] = (url.searchParams.get("continue") ?? `0-${this.#version}`)
      .split("-")
      .map(Number) as [number, number];
    if (version < this.compacted) {
      json(410, { kind: "Status", code: 410, message: "continue token expired" });
      return;
    }
    const end = from + limit;
    json(200, {
      kind: "ListOfSomething",
      metadata: {
        resourceVersion: String(version),
        ...(end < all.length ? { continue: `${end}-${version}` } : {}),
      },
      items: all.slice(from, end),
    });
  }

  #watch(
    url: URL,
    collection: string,
    response: ServerResponse,
    json: (status: number, body: object) => void,
  ): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from > this.#version) {
      json(504, { code: 504, message: "Too large resource version" });
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (from < this.compacted) {
      response.end(`${JSON.stringify(GONE)}\n`);
      return;
    }
    const watcher: Watcher = { path: collection, response };
    this.#watchers.add(watcher);
    response.on("close", () => this.#watchers.delete(watcher));
    for (const { collection: of, version, type, object } of this.#events)
      if (of === collection && version > from) response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
