import { type Dispatcher, request } from "undici";
import type { KubernetesObject } from "../extract/objects.ts";
import { readBody } from "../outgoing/read-body.ts";
import { LineSplitter } from "../snapshot/lines/json-syntax.ts";
import type { ApiConnection, OpenConnection } from "./api-connection.ts";

/** An answer of the API server that is not a 2xx, or an unusable one. */
export class ApiError extends Error {
  readonly status: number;
  /** Causes of the Status object, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];
  /** Milliseconds after which the API server wants the request again: 429 of its priority and fairness, or a 5xx that says so. */
  readonly retryAfter: number | undefined;

  /** @param text the answer: the API server explains errors in a Status object; proxies in front of it do not */
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
}

/** A whole list of one resource. */
interface ObjectList {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
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
/** etcd holds objects of up to 1.5 MiB by default. */
const LONGEST_LINE = 32 * 1024 * 1024;
/** Milliseconds after which a connection is opened anew: tokens and certificates of a pod change while it runs. */
const CONNECTED_FOR = 60_000;
/** Milliseconds after which a silent watch is opened again: its API server may be gone without a word. */
export const WATCH_SILENCE = 30_000;
/** Seconds that are waited at most, whatever the API server says. */
const LONGEST_WAIT = 60;

/** Requests to an API server with the credentials of a kubeconfig. */
export class ApiServer {
  readonly connection: ApiConnection;
  readonly #pageSize: number;
  /** Shared by all requests that begin in its time. */
  #connected: { readonly opened: Promise<OpenConnection>; readonly since: number } | undefined;

  constructor(connection: ApiConnection, pageSize = PAGE_SIZE) {
    this.connection = connection;
    this.#pageSize = pageSize;
  }

  /** Sends a request, and reads the answer. @throws {ApiError} for an answer that is not a 2xx, and the errors of undici. */
  async text(path: string, signal: AbortSignal, options: ApiRequest = {}): Promise<string> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]);
    return readText(await this.#send(path, limit, options), path);
  }

  async json<Value>(path: string, signal: AbortSignal, options?: ApiRequest): Promise<Value> {
    return JSON.parse(await this.text(path, signal, options)) as Value;
  }

  /**
   * Lists a whole resource, page by page. If the pages expire during the list (410), it starts again
   * without pages, so that the result always shows one moment.
   */
  async list(path: string, accept: string, signal: AbortSignal): Promise<ObjectList> {
    try {
      return await this.#listPages(path, accept, signal, this.#pageSize);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 410) throw error;
      return this.#listPages(path, accept, signal, undefined);
    }
  }

  async #listPages(
    path: string,
    accept: string,
    signal: AbortSignal,
    pageSize: number | undefined,
  ): Promise<ObjectList> {
    const items: KubernetesObject[] = [];
    let token: string | undefined;
    for (;;) {
      const query = new URLSearchParams();
      if (pageSize !== undefined) query.set("limit", String(pageSize));
      if (token !== undefined) query.set("continue", token);
      const page = await this.json<{
        items?: KubernetesObject[] | null;
        metadata?: { resourceVersion?: string; continue?: string };
      }>(query.size === 0 ? path : `${path}?${query}`, signal, { accept });
      for (const item of page.items ?? []) items.push(item);
      token = page.metadata?.continue;
      if (!token) return { items, resourceVersion: page.metadata?.resourceVersion ?? "" };
    }
  }

  /**
   * Watches a resource from a version on, with bookmarks, so that a quiet resource does not fall behind etcd's compaction. Resolves when the API
   * server has accepted the watch, to its events. They end with the stream, and with an error if it is silent.
   */
  async watch(
    path: string,
    from: string,
    accept: string,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>> {
    const query = new URLSearchParams({ watch: "true", resourceVersion: from, allowWatchBookmarks: "true" });
    return readEvents(await this.#send(`${path}?${query}`, signal, { accept }, WATCH_SILENCE));
  }

  /** Lets running requests finish. */
  close(): void {
    const closed = this.#connected;
    this.#connected = undefined;
    closed?.opened.then(({ dispatcher }) => dispatcher.close()).catch(() => undefined);
  }

  /** Sends a request over the shared connection. One that failed, or whose credentials are rejected, is not used again. */
  async #send(
    path: string,
    signal: AbortSignal,
    options: ApiRequest,
    silence?: number,
  ): Promise<Dispatcher.ResponseData["body"]> {
    const { method = "GET", accept = JSON_TYPE, type, body } = options;
    const before = this.#connected;
    const connected = this.#connect();
    const failed = () => {
      if (this.#connected === connected) this.close();
    };
    let answer: Dispatcher.ResponseData;
    try {
      const { dispatcher } = await connected.opened;
      answer = await request(this.connection.url + path, {
        method,
        dispatcher,
        headers: { accept, ...(type !== undefined && { "content-type": type }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
        ...(silence !== undefined && { headersTimeout: silence, bodyTimeout: silence }),
      });
    } catch (error) {
      failed();
      throw error;
    }
    const { statusCode: status, headers } = answer;
    if (status >= 200 && status < 300) return answer.body;
    if (status === 401) {
      (await connected.opened).rejected();
      failed();
      // The credentials may have expired since the connection was opened.
      if (connected === before) {
        await answer.body.dump();
        return this.#send(path, signal, options, silence);
      }
    }
    const seconds = Number(headers["retry-after"] ?? Number.NaN);
    const isBusy = (status === 429 || status >= 500) && seconds >= 0;
    const retryAfter = isBusy ? Math.min(seconds, LONGEST_WAIT) * 1000 : undefined;
    throw new ApiError(`${method} ${path}`, status, await readText(answer.body, path), retryAfter);
  }

  #connect() {
    if (this.#connected !== undefined && performance.now() - this.#connected.since >= CONNECTED_FOR)
      this.close();
    this.#connected ??= { opened: this.connection.open(), since: performance.now() };
    return this.#connected;
  }
}

async function readText(body: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  const tooLong = () => new ApiError(path, 200, `the answer has more than ${MOST_BYTES} bytes`);
  return (await readBody(body, MOST_BYTES, tooLong)).toString();
}

async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  const splitter = new LineSplitter(LONGEST_LINE);
  const decoder = new TextDecoder();
  for await (const piece of body)
    for (const line of splitter.feed(piece)) yield JSON.parse(decoder.decode(line)) as WatchEvent;
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
