import { KubeConfig } from "@kubernetes/client-node";
import { Agent, type Dispatcher, request } from "undici";
import type { KubernetesObject } from "../extract/objects.ts";
import { SourceError } from "./object-source.ts";

/** An answer of the API server other than 200, or an unusable one. `statusCode` as in the client's own errors. */
export class ApiError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, path: string, message: string) {
    super(`GET ${path}: ${statusCode} ${message}`);
    this.statusCode = statusCode;
  }
}

/** The kubeconfig: the API server's address and the worker's credentials. */
export interface KubeConfigOptions {
  /** Path of a kubeconfig file. Default: KUBECONFIG, ~/.kube/config or the service account of the pod. */
  readonly kubeconfig?: string;
  /** Context of the kubeconfig. Default: its current one. */
  readonly context?: string;
}

/**
 * Loads a kubeconfig.
 * @throws {SourceError} `KUBECONFIG_INVALID` if it cannot be read or lacks the context.
 */
export function loadKubeConfig({ kubeconfig, context }: KubeConfigOptions): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    const message = `the kubeconfig ${kubeconfig ?? "(default)"} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new SourceError("KUBECONFIG_INVALID", message, true, cause);
  }
  if (kubeconfig === undefined && config.getCurrentContext() === "loaded-context") {
    const message =
      "no kubeconfig: neither KUBECONFIG nor ~/.kube/config exists, and the worker does not run in a pod with a service account. Give one (--kubeconfig)";
    throw new SourceError("KUBECONFIG_INVALID", message, true);
  }
  if (context !== undefined) config.setCurrentContext(context);
  if (config.getCurrentCluster() === null) {
    const known = config.getContexts().map(({ name }) => name);
    const message = `the kubeconfig has no cluster for context ${JSON.stringify(config.getCurrentContext())}; its contexts are: ${known.join(", ") || "none"}`;
    throw new SourceError("KUBECONFIG_INVALID", message, true);
  }
  return config;
}

type RequestContext = Parameters<KubeConfig["applySecurityAuthentication"]>[0];

/** The credentials of one connection, from the Kubernetes client: headers, and TLS options in a dispatcher. */
export interface Credentials {
  readonly headers: Record<string, string>;
  readonly dispatcher: Dispatcher;
}

/** The current credentials; tokens and certificates may change until the next call. The caller closes the dispatcher. */
export async function readCredentials(config: KubeConfig): Promise<Credentials> {
  const headers: Record<string, string> = {};
  let dispatcher: Dispatcher | undefined;
  // The part of the client's RequestContext that applySecurityAuthentication sets.
  const context = {
    setHeaderParam: (name: string, value: string) => {
      headers[name.toLowerCase()] = value.trim();
    },
    setDispatcher: (one: Dispatcher) => {
      dispatcher = one;
    },
  };
  await config.applySecurityAuthentication(context as unknown as RequestContext);
  return { headers, dispatcher: dispatcher ?? new Agent() };
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
  readonly config: KubeConfig;
  readonly #pageSize: number;

  constructor(config: KubeConfig, pageSize = PAGE_SIZE) {
    this.config = config;
    this.#pageSize = pageSize;
  }

  /** Scheme, host and path of the API server, without a slash at the end. */
  get url(): string {
    return this.config.getCurrentCluster()!.server.replace(/\/+$/, "");
  }

  /**
   * Runs several requests over one connection.
   * @throws {ApiError} for answers other than 200, and the errors of undici.
   */
  async session<Result>(signal: AbortSignal, use: (get: GetText) => Promise<Result>): Promise<Result> {
    const { headers, dispatcher } = await readCredentials(this.config);
    try {
      return await use(async (path, accept = "application/json") => {
        const answer = await request(this.url + path, {
          headers: { ...headers, accept },
          dispatcher,
          signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT)]),
        });
        const text = await readText(answer.body, path);
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
