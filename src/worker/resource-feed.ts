import type { KubernetesObject } from "../extract/objects.ts";
import { type ApiResource, nameOf, resourcePath } from "./api-resources.ts";
import { ApiError, type ApiServer } from "./api-server.ts";
import { describeCauses, SourceError, type SourceListener, type SyncLogger } from "./object-source.ts";
import { type BackoffLimits, backoffPause, Failures, pause } from "./pacing.ts";

const PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const FORGOTTEN_AFTER = 60_000;
const REFUSALS_UNTIL_RELIST = 2;
/** Pauses between watches that end without an event. */
const REOPEN = { first: 1_000, most: 30_000 };
/** A restarting API server rejects all clients until it has read its roles and service accounts. */
const STARTING_FOR = 600_000;
const FAILURES_WHILE_STARTING = 8;
/** Statuses that do not depend on the request: they concern credentials or the load of the API server. */
const UNRELATED = new Set([401, 403, 429, 503]);

/** Times of a source in milliseconds. */
export interface SourceTimes {
  /** Between two discoveries of the served versions; a missing resource starts one at once. */
  readonly discovery: number;
  /** Until the objects of a resource that is not served any more are removed. */
  readonly goneAfter: number;
  /** Of failures until the source reports them as a problem: an API server may restart. */
  readonly problemAfter: number;
  /** Pauses after transient failures. */
  readonly backoff: BackoffLimits;
  /** Pauses after rejections that an operator must fix. */
  readonly slowBackoff: BackoffLimits;
}

/** The context of a feed, from its source. */
export interface FeedContext {
  readonly api: ApiServer;
  /** Of the source's `run`. */
  listener: SourceListener;
  readonly logger: SyncLogger;
  readonly times: SourceTimes;
  /** The API server does not know the resource. */
  readonly rediscover: () => void;
}

/**
 * One resource of an API server, kept current: a list, then watches that go on where the one before ended.
 * After an error the feed tries again with a growing pause. Objects stay reported until a complete new list
 * lacks them, in any version of the API group.
 */
export class ResourceFeed {
  readonly resource: ApiResource;
  /** Whether the resource was listed once, or is known not to be served. */
  synced = false;
  /** The version that the feed reads; undefined if none. */
  version: string | undefined;
  /**
   * When the API server last confirmed the reported objects, by `performance.now()`; undefined if nothing is
   * served.
   */
  confirmedAt: number | undefined;
  /** Failures since the API server last accepted the feed's watch. */
  readonly failures: Failures;
  readonly #context: FeedContext;
  readonly #reported = new Map<string, KubernetesObject>();
  #running = new AbortController();
  /** The resource version of what is reported; "" before a list. */
  #from = "";
  #failures = 0;
  #failedAt = 0;
  /** Consecutive failures that the request itself caused. */
  #refusals = 0;

  constructor(resource: ApiResource, context: FeedContext) {
    this.resource = resource;
    this.#context = context;
    this.failures = new Failures(context.times.problemAfter);
  }

  /** An object as it was reported. @param namespace empty for objects of the cluster */
  find(namespace: string, name: string): KubernetesObject | undefined {
    return this.#reported.get(`${namespace}/${name}`);
  }

  /** Reads another version from now on. Reported objects stay until it has been listed. */
  serve(version: string): void {
    if (this.version === version) return;
    const { resource, group } = this.resource;
    if (this.version !== undefined)
      this.#context.logger.info(
        { resource, group, from: this.version, to: version },
        "the API server now serves another version",
      );
    this.stop();
    this.version = version;
    this.#failures = 0;
    this.#from = "";
    this.#running = new AbortController();
    void this.#follow(version, this.#running.signal);
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
    this.version = undefined;
    this.#running.abort();
  }

  async #follow(version: string, signal: AbortSignal): Promise<void> {
    /** Watches in a row that ended without an event. */
    let quiet = 0;
    while (!signal.aborted) {
      try {
        if (this.#from === "") await this.#list(version, signal);
        if (quiet > 1) await pause(backoffPause(quiet - 1, REOPEN), signal);
        quiet = (await this.#watch(version, signal)) ? 0 : quiet + 1;
      } catch (cause) {
        if (!signal.aborted) await pause(this.#failed(cause), signal);
      }
    }
  }

  async #list(version: string, signal: AbortSignal): Promise<void> {
    const { api, logger, listener } = this.#context;
    const accept = this.#accept(PARTIAL.replace(";", "List;"));
    const { items, resourceVersion } = await api.list(resourcePath(this.resource, version), accept, signal);
    signal.throwIfAborted();
    const listed = items.map((item) => this.#prepare(item, version));
    const kept = new Set(listed.map(objectKey));
    for (const [key, object] of this.#reported) if (!kept.has(key)) this.#delete(object);
    for (const object of listed) this.#upsert(object);
    const { resource, group } = this.resource;
    if (!this.synced || this.#failures > 0) logger.info({ resource, group, objects: items.length }, "listed");
    this.synced = true;
    this.#failures = 0;
    this.#from = resourceVersion;
    this.confirmedAt = performance.now();
    listener.changed();
  }

  /** Follows a watch to its end. Returns whether it brought something, or was silent for long. */
  async #watch(version: string, signal: AbortSignal): Promise<boolean> {
    const { api, listener } = this.#context;
    const path = resourcePath(this.resource, version);
    let isOfUse = false;
    try {
      const events = await api.watch(path, this.#from, this.#accept(PARTIAL), signal);
      this.#confirm();
      for await (const { type, object } of events) {
        signal.throwIfAborted();
        // The API server then closes the stream; a proxy may not.
        if (type === "ERROR") throw new ApiError(path, Number(object.code), String(object.message));
        this.#confirm();
        isOfUse = true;
        if (type === "DELETED") this.#delete(object);
        else if (type !== "BOOKMARK") this.#upsert(this.#prepare(object, version));
        this.#from = String(object.metadata?.resourceVersion ?? "");
        if (type !== "BOOKMARK") listener.changed();
      }
    } catch (error) {
      if ((error as Error).name === "TimeoutError") return true;
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      // What is too old is listed again.
      this.#from = "";
    }
    return isOfUse;
  }

  #accept(kind: string): string {
    return this.resource.metadataOnly ? `application/json;${kind},application/json` : "application/json";
  }

  // Lists omit kind and apiVersion; field ownership is half of many objects.
  #prepare(object: KubernetesObject, version: string): KubernetesObject {
    const { group, kind, reduce = (whole) => whole } = this.resource;
    const { managedFields: _, ...metadata } = (object.metadata ?? {}) as Record<string, unknown>;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return reduce({ ...object, apiVersion, kind, metadata });
  }

  #upsert(object: KubernetesObject): void {
    this.#reported.set(objectKey(object), object);
    this.#context.listener.upsert(object);
  }

  #delete(object: KubernetesObject): void {
    const key = objectKey(object);
    const reported = this.#reported.get(key);
    if (reported === undefined) return;
    this.#reported.delete(key);
    this.#context.listener.delete(reported);
  }

  // A list alone is no sign of health: a worker that may list and not watch learns of no change.
  #confirm(): void {
    this.failures.over();
    this.#refusals = 0;
    this.confirmedAt = performance.now();
  }

  /** Reports a failure. Returns the pause after it, in milliseconds. */
  #failed(cause: unknown): number {
    const { api, listener, logger, rediscover, times } = this.#context;
    const { resource, group, optional } = this.resource;
    const now = performance.now();
    this.#failures = now - this.#failedAt > FORGOTTEN_AFTER ? 1 : this.#failures + 1;
    this.#failedAt = now;
    const status = cause instanceof ApiError ? cause.status : undefined;
    this.#refusals = status !== undefined && !UNRELATED.has(status) ? this.#refusals + 1 : 0;
    // A resource version that the API server does not know, for example after a restored backup, would
    // always fail.
    if (this.#refusals >= REFUSALS_UNTIL_RELIST) this.#from = "";
    const error = explainFailure(this.resource, cause, api.connection.identity);
    const fields = { resource, group, code: error.code, failures: this.#failures };
    const isLeftOut = optional && error.code === "RBAC_FORBIDDEN";
    if (isLeftOut) this.failures.over();
    else this.failures.failed(error.code, now);
    const starting =
      error.permanent &&
      status !== undefined &&
      this.#failures <= FAILURES_WHILE_STARTING &&
      now - (this.confirmedAt ?? Number.NEGATIVE_INFINITY) < STARTING_FOR;
    if (isLeftOut && !starting) {
      if (this.#failures === 1 || this.#failures === FAILURES_WHILE_STARTING + 1)
        logger.warn(fields, `${error.message}; continuing without it`);
      this.confirmedAt = undefined;
      this.synced = true;
      listener.changed();
    } else {
      const hint = starting
        ? "rejected, possibly because the API server has just started; trying again. "
        : "";
      logger[error.permanent && !starting ? "error" : "warn"](fields, hint + error.message);
      listener.failed(error);
    }
    if (error.code === "RESOURCE_NOT_SERVED") rediscover();
    return backoffPause(this.#failures, error.permanent && !starting ? times.slowBackoff : times.backoff);
  }
}

function objectKey({ metadata }: KubernetesObject): string {
  return `${String(metadata?.namespace ?? "")}/${String(metadata?.name ?? "")}`;
}

/**
 * The error of a failed list or watch, with the next step for the reader of the log.
 * @param identity whose credentials the API server got
 */
function explainFailure(resource: ApiResource, cause: unknown, identity: string): SourceError {
  if (cause instanceof SourceError) return cause;
  const name = nameOf(resource);
  const explain = (code: string, isPermanent: boolean, message: string) =>
    new SourceError(code, `${message} ${describeCauses(cause)}`, isPermanent, cause);
  switch (cause instanceof ApiError ? cause.status : undefined) {
    case 401:
      return explain(
        "API_UNAUTHENTICATED",
        true,
        `the API server does not accept the credentials of ${identity} (401) for ${name}; renew them there, they count without a restart.`,
      );
    case 403: {
      const rule = { apiGroups: [resource.group], resources: [resource.resource], verbs: ["list", "watch"] };
      const message = `RBAC forbids to list and watch ${name}: add the rule ${JSON.stringify(rule)} to the ClusterRole of the sync worker (infra/kubernetes has it).`;
      return explain("RBAC_FORBIDDEN", true, message);
    }
    case 404: {
      const path = resourcePath(resource, "*");
      const message = `the API server no longer serves ${name} at ${path}; looking for another version.`;
      return explain("RESOURCE_NOT_SERVED", false, message);
    }
    default:
      return explain("API_UNREACHABLE", false, `${name} cannot be read:`);
  }
}
