import type { IncomingHttpHeaders } from "node:http";
import { PassThrough } from "node:stream";
import { KubeConfig, Watch } from "@kubernetes/client-node";
import { type Dispatcher, errors, interceptors, request } from "undici";
import { readAtMost } from "../dns/bounded-body.ts";
import type { KubernetesObject } from "../extract/objects.ts";
import type { ApiConnection, OpenConnection } from "./api-connection.ts";
import { pause } from "./pacing.ts";

/** An answer of the API server that is not a 2xx, or an unusable one. */
export class ApiError extends Error {
  readonly status: number;
  /** Causes of the Status object, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];
  /**
   * Milliseconds after which the API server wants the request again: 429 of its priority and fairness, or a
   * 5xx that says so.
   */
  readonly retryAfter: number | undefined;

  /**
   * @param text the answer: the API server explains errors in a Status object; proxies in front of it do not
   */
  constructor(what: string, status: number, text: string, retryAfter?: number) {
    const { message, causes } = readStatus(text);
    super(`${what}: ${status} ${message}`);
    this.status = status;
    this.causes = causes;
    this.retryAfter = retryAfter;
  }
}

/** A request other than one that reads JSON. */
export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The requested media type. */
  readonly accept?: string;
  /** The media type of the body. */
  readonly type?: string;
  readonly body?: object;
  /** Sent also while the API server wants nothing else, such as a renewal of a Lease. */
  readonly isUrgent?: boolean;
  /** Each attempt waits for it. */
  readonly turn?: () => Promise<void>;
}

/** A whole list of one resource. */
interface ObjectList {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
}

interface ListPage {
  readonly items?: readonly KubernetesObject[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

/** A line of a watch. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubernetesObject & { readonly code?: unknown; readonly message?: unknown };
}

const JSON_TYPE = "application/json";
const PAGE_SIZE = 500;
const REQUEST_TIMEOUT = 60_000;
const MOST_BYTES = 256 * 1024 * 1024;
/**
 * Milliseconds after which a connection is opened anew: tokens and certificates of a pod change while it
 * runs.
 */
const CONNECTED_FOR = 60_000;
/** Seconds that are waited at most, whatever the API server says. */
const LONGEST_WAIT = 60;
/** How often a request is made that the API server asks to repeat, as by client-go. */
export const MOST_ATTEMPTS = 11;

/** Requests to an API server with the credentials of a kubeconfig. */
export class ApiServer {
  readonly connection: ApiConnection;
  readonly #pageSize: number;
  /** Shared by all requests that begin in its time. */
  #connected: { readonly opened: Promise<OpenConnection>; readonly since: number } | undefined;
  /** Until when the API server wants no request; milliseconds of the monotonic clock. */
  #heldUntil = 0;

  constructor(connection: ApiConnection, pageSize = PAGE_SIZE) {
    this.connection = connection;
    this.#pageSize = pageSize;
  }

  /**
   * Sends a request, again while the API server asks for that, and reads the answer.
   * @throws {ApiError} for an answer that is not a 2xx, and the errors of undici
   */
  text(path: string, signal: AbortSignal, options: ApiRequest = {}): Promise<string> {
    return this.#repeat(signal, options, async () => {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]);
      return readText(await this.#send(path, limit, options), path);
    });
  }

  async json<Value>(path: string, signal: AbortSignal, options?: ApiRequest): Promise<Value> {
    return JSON.parse(await this.text(path, signal, options)) as Value;
  }

  /**
   * Lists a whole resource, page by page. If the pages expire during the list (410), it starts again
   * without pages, so that the result always shows one moment.
   * @param limit objects of a page; 0 for all at once
   */
  async list(path: string, accept: string, signal: AbortSignal, limit = this.#pageSize): Promise<ObjectList> {
    const items: KubernetesObject[] = [];
    const query = new URLSearchParams(limit === 0 ? {} : { limit: String(limit) });
    try {
      for (;;) {
        const page = await this.json<ListPage>(`${path}?${query}`, signal, { accept });
        for (const item of page.items ?? []) items.push(item);
        const { continue: token, resourceVersion = "" } = page.metadata ?? {};
        if (!token) return { items, resourceVersion };
        query.set("continue", token);
      }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410) || limit === 0) throw error;
      return this.list(path, accept, signal, 0);
    }
  }

  /**
   * Watches a resource from a version on, with bookmarks, so that a quiet resource does not fall behind
   * etcd's compaction. Resolves when the API server has accepted the watch, to its events. They end with the
   * stream, and with a `TimeoutError` after 30 silent seconds.
   * @throws {ApiError} for an answer that is not a 2xx, and the errors of undici
   */
  watch(path: string, from: string, accept: string, signal: AbortSignal): Promise<AsyncIterable<WatchEvent>> {
    const open = async (dispatcher: Dispatcher) => {
      const events = new PassThrough({ objectMode: true });
      // Without a listener the error of an unread watch would end the process.
      events.on("error", () => {});
      const explained = dispatcher.compose(interceptors.responseError());
      const config = new WatchConfig(this.connection.url, accept, explained);
      const running = await new Watch(config).watch(
        path,
        { resourceVersion: from, allowWatchBookmarks: true },
        (type, object) => events.write({ type, object }),
        (error: Error | null) => (error === null ? events.end() : events.destroy(error)),
      );
      if (events.errored !== null) throw watchError(path, events.errored);
      const stop = () => running.abort();
      signal.addEventListener("abort", stop);
      events.on("close", () => {
        signal.removeEventListener("abort", stop);
        stop();
      });
      if (signal.aborted) stop();
      return events;
    };
    return this.#repeat(signal, {}, () => this.#use(open));
  }

  /** Lets running requests finish. */
  close(): void {
    const closed = this.#connected;
    this.#connected = undefined;
    closed?.opened.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined);
  }

  /** Makes a request, again while the API server asks for that. */
  async #repeat<Answer>(
    signal: AbortSignal,
    { isUrgent = false, turn }: ApiRequest,
    attempt: () => Promise<Answer>,
  ): Promise<Answer> {
    let heldUntil = 0;
    for (let attempts = 1; ; attempts++) {
      const held = (isUrgent ? heldUntil : this.#heldUntil) - performance.now();
      if (held > 0 && !(await pause(held, signal))) throw new Error("stopped");
      await turn?.();
      try {
        return await attempt();
      } catch (error) {
        const wait = error instanceof ApiError ? error.retryAfter : undefined;
        if (wait === undefined || attempts === MOST_ATTEMPTS) throw error;
        heldUntil = performance.now() + wait;
        if (!isUrgent) this.#heldUntil = Math.max(this.#heldUntil, heldUntil);
      }
    }
  }

  #send(path: string, signal: AbortSignal, options: ApiRequest): Promise<Dispatcher.ResponseData["body"]> {
    const { method = "GET", accept = JSON_TYPE, type, body } = options;
    return this.#use(async (dispatcher) => {
      const answer = await request(this.connection.url + path, {
        method,
        dispatcher,
        headers: { accept, ...(type !== undefined && { "content-type": type }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      const { statusCode: status, headers } = answer;
      if (status >= 200 && status < 300) return answer.body;
      const text = await readText(answer.body, path);
      throw new ApiError(`${method} ${path}`, status, text, readRetryAfter(status, headers));
    });
  }

  /** Uses the shared connection. One that failed, or whose credentials are rejected, is not used again. */
  async #use<Answer>(send: (dispatcher: Dispatcher) => Promise<Answer>): Promise<Answer> {
    const before = this.#connected;
    const connected = this.#connect();
    try {
      const { dispatcher } = await connected.opened;
      return await send(dispatcher);
    } catch (error) {
      const isRejected = error instanceof ApiError && error.status === 401;
      if (this.#connected === connected && (isRejected || !(error instanceof ApiError))) this.close();
      if (!isRejected) throw error;
      (await connected.opened).rejected();
      // The credentials may have expired since the connection was opened.
      if (connected === before) return this.#use(send);
      throw error;
    }
  }

  #connect() {
    if (this.#connected !== undefined && performance.now() - this.#connected.since >= CONNECTED_FOR)
      this.close();
    this.#connected ??= { opened: this.connection.open(), since: performance.now() };
    return this.#connected;
  }
}

async function readText(body: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  const bytes = await readAtMost(body, MOST_BYTES);
  if (bytes === undefined) throw new ApiError(path, 200, `the answer has more than ${MOST_BYTES} bytes`);
  return Buffer.from(bytes.buffer).toString();
}

/** What the client's `Watch` takes of a kubeconfig: the API server, and a connection with credentials. */
class WatchConfig extends KubeConfig {
  constructor(url: string, accept: string, dispatcher: Dispatcher) {
    super();
    this.getCurrentCluster = () => ({ name: "", server: url, skipTLSVerify: false });
    this.applySecurityAuthentication = async (context) => {
      context.setHeaderParam("accept", accept);
      context.setDispatcher(dispatcher);
    };
  }
}

/** The error of a watch that was not accepted. */
function watchError(path: string, error: Error & { readonly statusCode?: number }): Error {
  const { cause } = error;
  if (cause instanceof errors.ResponseError) {
    const { statusCode: status, body } = cause;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const retryAfter = readRetryAfter(status, cause.headers as IncomingHttpHeaders);
    return new ApiError(`GET ${path}`, status, text, retryAfter);
  }
  // A redirect, or a 2xx that is not 200.
  if (error.statusCode !== undefined) return new ApiError(`GET ${path}`, error.statusCode, error.message);
  return error.name === "TimeoutError" ? new Error("the API server did not answer for 30 seconds") : error;
}

/** Milliseconds after which the API server wants the request again; undefined if it does not. */
function readRetryAfter(status: number, headers: IncomingHttpHeaders): number | undefined {
  const isBusy = status === 429 || status >= 500;
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return isBusy && seconds >= 0 ? Math.min(seconds, LONGEST_WAIT) * 1000 : undefined;
}

function readStatus(text: string): { readonly message: string; readonly causes: readonly string[] } {
  try {
    const { message, details } = JSON.parse(text) as {
      message?: unknown;
      details?: { causes?: { reason?: string }[] };
    };
    if (typeof message === "string")
      return { message, causes: (details?.causes ?? []).flatMap(({ reason }) => reason ?? []) };
  } catch {
    // Not JSON: the message quotes the body unchanged.
  }
  return { message: text.slice(0, 300), causes: [] };
}
