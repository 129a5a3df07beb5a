import { type KubernetesObject as ClientObject, KubeConfig, ListWatch, Watch } from "@kubernetes/client-node";
import type { KubernetesObject } from "../extract/objects.ts";
import type { ApiConnection, OpenConnection } from "./api-connection.ts";
import { explainFailure } from "./api-failures.ts";
import { ApiError, type ApiResource, type ApiServer, resourcePath } from "./api-resources.ts";
import type { SourceListener, SyncLogger } from "./object-source.ts";
import { type BackoffLimits, backoffPause, Failures, pause } from "./pacing.ts";

const PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const FORGOTTEN_AFTER = 60_000;
const REFUSALS_UNTIL_RELIST = 2;
/** A restarting API server rejects all clients until it has read its roles and service accounts. */
const STARTING_FOR = 600_000;
const FAILURES_WHILE_STARTING = 8;
/** Statuses that do not depend on the request: they concern credentials or the load of the API server. */
const UNRELATED = new Set([401, 403, 429, 503]);

/** The context of a feed, from its source. */
interface FeedContext {
  readonly api: ApiServer;
  readonly listener: SourceListener;
  readonly logger: SyncLogger;
  /** Pauses after transient failures. */
  readonly backoff: BackoffLimits;
  /** Pauses after rejections that an operator must fix. */
  readonly slowBackoff: BackoffLimits;
  /** Milliseconds of failures until they are a problem. */
  readonly problemAfter: number;
  /** The API server does not know the resource. */
  readonly rediscover: () => void;
}

interface Run {
  readonly version: string;
  readonly abort: AbortController;
  readonly informer: ListWatch<ClientObject>;
  restarting: boolean;
}

/**
 * One resource of an API server, kept current by an informer of the Kubernetes client. The informer stops
 * at most errors; the feed starts it again, with a growing pause. Objects stay reported until a complete
 * new list lacks them, in any version of the API group.
 */
export class ResourceFeed {
  readonly resource: ApiResource;
  /** Whether the resource was listed once, or is known not to be served. */
  synced = false;
  /** When the API server last confirmed the reported objects, by `performance.now()`; undefined if nothing is served. */
  confirmedAt: number | undefined;
  /** Failures since the API server last accepted the feed's watch. */
  readonly failures: Failures;
  readonly #context: FeedContext;
  readonly #reported = new Map<string, KubernetesObject>();
  #run: Run | undefined;
  #failures = 0;
  #failedAt = 0;
  /** Consecutive failures that the request itself caused. */
  #refusals = 0;

  constructor(resource: ApiResource, context: FeedContext) {
    this.resource = resource;
    this.#context = context;
    this.failures = new Failures(context.problemAfter);
  }

  /** The version that the feed reads; undefined if none. */
  get version(): string | undefined {
    return this.#run?.version;
  }

  /** Reads another version from now on. Reported objects stay until it has been listed. */
  serve(version: string): void {
    if (this.#run?.version === version) return;
    const { resource, group } = this.resource;
    if (this.#run !== undefined)
      this.#context.logger.info(
        { resource, group, from: this.#run.version, to: version },
        "the API server now serves another version",
      );
    this.#failures = 0;
    this.#open(version);
  }

  #open(version: string): void {
    this.stop();
    const { group } = this.resource;
    const abort = new AbortController();
    const path = resourcePath(this.resource, version);
    const accept = (kind: string) =>
      this.resource.metadataOnly ? `application/json;${kind},application/json` : "application/json";
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const { kind, reduce = (object) => object } = this.resource;
    const prepare = (object: object) => reduce(trim(object as KubernetesObject, apiVersion, kind));
    const fail = (error: unknown) => this.#fail(run, error);
    const watch = new InformerWatch(this.#context.api.connection, {
      accept: accept(PARTIAL),
      signal: abort.signal,
      prepare,
      alive: () => this.#watched(run),
      broken: fail,
    });
    const list = () => this.#list(run, path, accept(PARTIAL.replace(";", "List;")), prepare);
    const delayFn = async (milliseconds: number) => {
      await pause(milliseconds, abort.signal);
    };
    const informer = new ListWatch(path, watch, list, false, undefined, undefined, { delayFn });
    const run: Run = { version, abort, informer, restarting: false };
    this.#run = run;
    const { listener } = this.#context;
    const upsert = (object: ClientObject) => {
      if (this.#upsert(run, object as KubernetesObject)) listener.changed();
    };
    informer.on("add", upsert);
    informer.on("update", upsert);
    informer.on("delete", (object) => {
      if (this.#delete(run, object as KubernetesObject)) listener.changed();
    });
    informer.on("error", fail);
    this.#start(run);
  }

  /** Reports that the resource is not served: it has no objects. */
  clear(): void {
    this.stop();
    this.confirmedAt = undefined;
    this.failures.over();
    const changed = !this.synced || this.#reported.size > 0;
    for (const object of this.#reported.values()) this.#context.listener.delete(object);
    this.#reported.clear();
    this.synced = true;
    if (changed) this.#context.listener.changed();
  }

  /** Stops reading; reported objects stay. */
  stop(): void {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return;
    run.abort.abort();
    void run.informer.stop();
  }

  #start(run: Run): void {
    run.informer.start().catch((error: unknown) => this.#fail(run, error));
  }

  async #list(run: Run, path: string, accept: string, prepare: (object: object) => object) {
    const { items, resourceVersion } = await this.#context.api.list(path, accept, run.abort.signal);
    if (this.#run !== run) throw new Error("stopped");
    const prepared = items.map((item) => prepare(item) as KubernetesObject);
    const kept = new Set(prepared.map(objectKey));
    for (const [key, object] of this.#reported) if (!kept.has(key)) this.#delete(run, object);
    for (const object of prepared) this.#upsert(run, object);
    if (!this.synced || this.#failures > 0)
      this.#context.logger.info(
        { resource: this.resource.resource, group: this.resource.group, objects: items.length },
        "listed",
      );
    this.synced = true;
    this.#failures = 0;
    this.confirmedAt = performance.now();
    this.#context.listener.changed();
    return { items: prepared as ClientObject[], metadata: { resourceVersion } };
  }

  /** Reports an object; false if that changes nothing. */
  #upsert(run: Run, object: KubernetesObject): boolean {
    const key = objectKey(object);
    if (this.#run !== run || this.#reported.get(key) === object) return false;
    this.#reported.set(key, object);
    this.#context.listener.upsert(object);
    return true;
  }

  #delete(run: Run, object: KubernetesObject): boolean {
    if (this.#run !== run || !this.#reported.delete(objectKey(object))) return false;
    this.#context.listener.delete(object);
    return true;
  }

  // A list alone is no sign of health: a worker that may list and not watch learns of no change.
  #watched(run: Run): void {
    if (this.#run !== run) return;
    this.failures.over();
    this.confirmedAt = performance.now();
  }

  #fail(run: Run, cause: unknown): void {
    if (this.#run !== run || run.restarting) return;
    const { api, listener, logger, rediscover, backoff, slowBackoff } = this.#context;
    const { resource, group, optional } = this.resource;
    const now = performance.now();
    this.#failures = now - this.#failedAt > FORGOTTEN_AFTER ? 1 : this.#failures + 1;
    this.#failedAt = now;
    const status = (cause as { statusCode?: unknown } | null | undefined)?.statusCode;
    this.#refusals = typeof status === "number" && !UNRELATED.has(status) ? this.#refusals + 1 : 0;
    const error = explainFailure(this.resource, cause, api.connection.identity);
    const fields = { resource, group, code: error.code, failures: this.#failures };
    const isLeftOut = optional && error.code === "RBAC_FORBIDDEN";
    if (isLeftOut) this.failures.over();
    else this.failures.failed(error.code, now);
    const starting =
      error.permanent &&
      typeof status === "number" &&
      this.#failures <= FAILURES_WHILE_STARTING &&
      now - (this.confirmedAt ?? Number.NEGATIVE_INFINITY) < STARTING_FOR;
    const permanent = error.permanent && !starting;
    if (starting) {
      logger.warn(
        fields,
        `rejected, possibly because the API server has just started; trying again. ${error.message}`,
      );
      listener.failed(error);
    } else if (isLeftOut) {
      if (this.#failures === 1 || this.#failures === FAILURES_WHILE_STARTING + 1)
        logger.warn(fields, `${error.message}; continuing without it`);
      this.confirmedAt = undefined;
      this.synced = true;
      listener.changed();
    } else {
      if (error.permanent) logger.error(fields, error.message);
      else logger.warn(fields, error.message);
      listener.failed(error);
    }
    if (error.code === "RESOURCE_NOT_SERVED") rediscover();
    void this.#retry(run, backoffPause(this.#failures, permanent ? slowBackoff : backoff));
  }

  async #retry(run: Run, milliseconds: number): Promise<void> {
    run.restarting = true;
    const over = await pause(milliseconds, run.abort.signal);
    run.restarting = false;
    if (!over || this.#run !== run) return;
    // A resource version that the API server does not know, for example after a restored backup, would always fail.
    if (this.#refusals < REFUSALS_UNTIL_RELIST) this.#start(run);
    else {
      this.#refusals = 0;
      this.#open(run.version);
    }
  }
}

function objectKey({ metadata }: KubernetesObject): string {
  return `${String(metadata?.namespace ?? "")}/${String(metadata?.name ?? "")}`;
}

// Lists omit kind and apiVersion; field ownership is half of many objects.
function trim(object: KubernetesObject, apiVersion: string, kind: string): KubernetesObject {
  const { managedFields: _, ...metadata } = (object.metadata ?? {}) as Record<string, unknown>;
  return { ...object, apiVersion, kind, metadata };
}

/** Options and callbacks of a watch. */
interface InformerWatchOptions {
  /** The requested media type. */
  readonly accept: string;
  /** Ends the watch for good. */
  readonly signal: AbortSignal;
  /** Changes an object before the informer stores it. */
  readonly prepare: (object: object) => object;
  /** The API server accepted the watch or sent something over it. */
  readonly alive: () => void;
  /** A callback of the informer failed; without this it would be an unhandled rejection. */
  readonly broken: (error: unknown) => void;
}

/**
 * The client's Watch, made safe for an informer that runs for months:
 * - it requests bookmarks, so that a quiet resource does not fall behind etcd's compaction;
 * - an error in the stream ends the watch;
 * - nothing starts after the stop;
 * - it forwards failures that the client leaves as rejections.
 * The client itself closes a connection without data for 30 seconds.
 */
class InformerWatch extends Watch {
  readonly #options: InformerWatchOptions;
  readonly #config: WatchConfig;

  constructor(connection: ApiConnection, options: InformerWatchOptions) {
    const config = new WatchConfig(connection, options.accept);
    super(config);
    this.#config = config;
    this.#options = options;
    options.signal.addEventListener("abort", () => config.release(), { once: true });
  }

  override async watch(
    path: string,
    query: Record<string, string | number | boolean | undefined>,
    callback: (phase: string, object: unknown, event?: unknown) => unknown,
    done: (error: unknown) => unknown,
  ): Promise<AbortController> {
    const { signal, prepare, alive, broken } = this.#options;
    if (signal.aborted) return new AbortController();
    let ended = false;
    const end = (error: unknown) => {
      if (ended) return;
      ended = true;
      if ((error as { statusCode?: unknown } | null)?.statusCode === 401) this.#config.rejected();
      this.#config.release();
      void Promise.resolve(done(error)).catch(broken);
    };
    const take = (phase: string, object: unknown) => {
      if (ended || signal.aborted) return;
      if (phase === "ERROR") {
        // The informer lists again after a 410. The API server then closes the stream; a proxy may not.
        const { code, message } = object as { code?: unknown; message?: unknown };
        if (code === 410) void callback(phase, object);
        end(code === 410 ? null : new ApiError(Number(code), path, String(message)));
        return;
      }
      alive();
      // The client would treat an exception from here as a line that is not JSON, and skip it.
      const hand = async () => callback(phase, phase === "BOOKMARK" ? object : prepare(object as object));
      hand().catch(end);
    };
    try {
      const controller = await super.watch(path, { ...query, allowWatchBookmarks: true }, take, end);
      if (signal.aborted) controller.abort();
      else if (!ended) alive();
      return controller;
    } catch (error) {
      end(error);
      return new AbortController();
    }
  }
}

/** What the client's Watch takes of a KubeConfig: the server, and connections, which it closes here. */
class WatchConfig extends KubeConfig {
  readonly #connection: ApiConnection;
  readonly #accept: string;
  #open: OpenConnection | undefined;

  constructor(connection: ApiConnection, accept: string) {
    super();
    this.#connection = connection;
    this.#accept = accept;
  }

  override getCurrentCluster() {
    return { name: "", server: this.#connection.url, skipTLSVerify: false };
  }

  override async applySecurityAuthentication(
    context: Parameters<KubeConfig["applySecurityAuthentication"]>[0],
  ): Promise<void> {
    const open = await this.#connection.open();
    this.release();
    this.#open = open;
    context.setHeaderParam("accept", this.#accept);
    context.setDispatcher(open.dispatcher);
  }

  rejected(): void {
    this.#open?.rejected();
  }

  release(): void {
    void this.#open?.dispatcher.destroy();
    this.#open = undefined;
  }
}
