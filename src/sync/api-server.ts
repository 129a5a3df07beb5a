import { type Dispatcher, request } from "undici";
import type { KubernetesObject } from "../extract/objects.ts";
import type { ApiConnection } from "./api-connection.ts";

/** An answer of the API server other than 200, or an unusable one. `statusCode` as in the client's own errors. */
export class ApiError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, path: string, message: string) {
    super(`GET ${path}: ${statusCode} ${message}`);
    this.statusCode = statusCode;
  }
}

/** A whole list of one resource. */
export interface ObjectList {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
}

const PAGE_SIZE = 500;
const REQUEST_TIMEOUT = 60_000;
const MOST_BYTES = 256 * 1024 * 1024;

/** Reads the body of a path; `accept` is the requested media type, by default JSON. */
export type GetText = (path: string, accept?: string) => Promise<string>;

/** Reads from an API server with the credentials of a kubeconfig. */
export class ApiServer {
  readonly connection: ApiConnection;
  readonly #pageSize: number;

  constructor(connection: ApiConnection, pageSize = PAGE_SIZE) {
    this.connection = connection;
    this.#pageSize = pageSize;
  }

  /** Scheme, host and path of the API server, without a slash at the end. */
  get url(): string {
    return this.connection.url;
  }

  /**
   * Runs several requests over one connection.
   * @throws {ApiError} for answers other than 200, and the errors of undici.
   */
  async session<Result>(signal: AbortSignal, use: (get: GetText) => Promise<Result>): Promise<Result> {
    const { dispatcher, rejected } = await this.connection.open();
    try {
      return await use(async (path, accept = "application/json") => {
        const answer = await request(this.url + path, {
          headers: { accept },
          dispatcher,
          signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
        });
        const text = await readText(answer.body, path);
        if (answer.statusCode === 401) rejected();
        if (answer.statusCode !== 200) throw new ApiError(answer.statusCode, path, describeStatus(text));
        return text;
      });
    } finally {
      void dispatcher.destroy();
    }
  }

  /**
   * Lists a whole resource, page by page. If the pages expire during the list (410), it starts again
   * without pages, so that the result always shows one moment.
   */
  list(path: string, accept: string, signal: AbortSignal): Promise<ObjectList> {
    return this.session(signal, async (get) => {
      try {
        return await this.#listPages(get, path, accept, this.#pageSize);
      } catch (error) {
        if (!(error instanceof ApiError) || error.statusCode !== 410) throw error;
        return this.#listPages(get, path, accept, undefined);
      }
    });
  }

  async #listPages(
    get: GetText,
    path: string,
    accept: string,
    pageSize: number | undefined,
  ): Promise<ObjectList> {
    const items: KubernetesObject[] = [];
    let token: string | undefined;
    for (;;) {
      const query = new URLSearchParams();
      if (pageSize !== undefined) query.set("limit", String(pageSize));
      if (token !== undefined) query.set("continue", token);
      const page = JSON.parse(await get(query.size === 0 ? path : `${path}?${query}`, accept)) as {
        items?: KubernetesObject[] | null;
        metadata?: { resourceVersion?: string; continue?: string };
      };
      for (const item of page.items ?? []) items.push(item);
      token = page.metadata?.continue;
      if (!token) return { items, resourceVersion: page.metadata?.resourceVersion ?? "" };
    }
  }
}

async function readText(body: Dispatcher.ResponseData["body"], path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > MOST_BYTES) throw new ApiError(200, path, `the answer has more than ${MOST_BYTES} bytes`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

// The API server explains errors in a Status object; proxies in front of it do not.
function describeStatus(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") return message;
  } catch {
    // Not JSON: the message quotes the body unchanged.
  }
  return text.slice(0, 200);
}
