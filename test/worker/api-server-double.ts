import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { HttpDouble } from "./http-double.ts";

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

/** A test API server with paged lists and watches; tests make it restart, compact, forbid and lose things. */
export class ApiServerDouble extends HttpDouble {
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

  readonly listener: RequestListener = (request, response) => void this.#answer(request, response);

  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: this.url } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "" } }],
      "current-context": "x",
    });
  }

  override async stop(): Promise<void> {
    this.#watchers.clear();
    await super.stop();
  }

  /** Creates or changes an object; `collection` is `/api/services`, or `/apis/<group>/<kinds>`. */
  put(collection: string, object: { metadata?: object }): void {
    const metadata: Stored["metadata"] = { ...object.metadata, resourceVersion: String(++this.#version) };
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
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#record(collection, "DELETED", { ...object, metadata });
  }

  /** Drops the past events, as etcd's compaction does: no watch goes on, and one that stays open gets 410. */
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
    const objects = this.#objects.get(path) ?? new Map<string, Stored>();
    this.#objects.set(path, objects);
    return objects;
  }

  #record(collection: string, type: string, object: Stored): void {
    this.#events.push({ collection, version: this.#version, type, object });
    this.send(collection, type, object);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, "http://api");
    this.seen.push(`${url.pathname}${url.search}`);
    const [status, body] = (await this.#respond(url, response)) ?? [];
    if (status === undefined) return;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  /** Status and body; undefined for a watch, which goes on. */
  async #respond(url: URL, response: ServerResponse): Promise<[number, object] | undefined> {
    const isWatch = url.searchParams.get("watch") === "true";
    const refused =
      this.refuse.get(url.pathname) ?? (isWatch ? this.refuseWatches.get(url.pathname) : undefined);
    if (refused !== undefined) return [refused, { kind: "Status", code: refused, message: "as asked" }];
    if (url.pathname === "/readyz") return [this.ready ? 200 : 500, {}];
    if (url.pathname === "/apis") {
      const versionsOf = (versions: readonly string[]) => versions.map((version) => ({ version }));
      const groups = Array.from(this.served, ([name, all]) => ({ name, versions: versionsOf(all) }));
      return [200, { groups }];
    }
    const [, root, rest = ""] = /^\/(api|apis)\/(.*)$/.exec(url.pathname) ?? [];
    const parts = rest.split("/");
    const [group, version, resource] = root === "api" ? ["", ...parts] : parts;
    const isCustom = group !== "" && group !== "discovery.k8s.io";
    if (isCustom && !this.served.get(group!)?.includes(version!))
      return [404, { message: "no such version" }];
    if (resource === undefined)
      return [200, { resources: [{ name: "serviceexports" }, { name: "serviceimports" }] }];
    const collection = root === "api" ? `/api/${resource}` : `/apis/${group}/${resource}`;
    if (isWatch) return this.#watch(Number(url.searchParams.get("resourceVersion")), collection, response);
    await this.beforePage(url);
    return this.#list(url, collection);
  }

  #list({ searchParams }: URL, collection: string): [number, object] {
    const all = [...this.#collection(collection).values()];
    const next = searchParams.get("continue") ?? `0-${this.#version}`;
    const [from, version] = next.split("-").map(Number) as [number, number];
    if (version < this.compacted)
      return [410, { kind: "Status", code: 410, message: "continue token expired" }];
    const end = from + Number(searchParams.get("limit") ?? all.length);
    const more = end < all.length && { continue: `${end}-${version}` };
    const metadata = { resourceVersion: String(version), ...more };
    return [200, { kind: "ListOfSomething", metadata, items: all.slice(from, end) }];
  }

  #watch(from: number, path: string, response: ServerResponse): [number, object] | undefined {
    if (from > this.#version) return [504, { code: 504, message: "Too large resource version" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (from < this.compacted) {
      response.end(`${JSON.stringify(GONE)}\n`);
      return undefined;
    }
    const watcher: Watcher = { path, response };
    this.#watchers.add(watcher);
    response.on("close", () => this.#watchers.delete(watcher));
    for (const { collection, version, type, object } of this.#events)
      if (collection === path && version > from) response.write(`${JSON.stringify({ type, object })}\n`);
    return undefined;
  }
}
