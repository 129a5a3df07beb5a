import { type Context, Hono } from "hono";
import { ApiError, apiRoute } from "../../http/api-error.ts";
import type { AppEnvironment } from "../../http/environment.ts";

/** What forwarding works with. */
export interface PushForwarderOptions {
  /** The gateway that takes pushes; a path before `/api/v1` may follow. */
  readonly primaryUrl: string;
  /** The longest body that is handed on, in octets. */
  readonly sentBytes: number;
  /** Default: the host's. */
  readonly fetch?: (url: string, request: RequestInit) => Promise<Response>;
  /** Is told of every request that the primary did not answer. */
  readonly onError?: (error: unknown) => void;
}

/** How long the primary may take, in milliseconds. */
const TIMEOUT = 30_000;
const CLUSTERS = "/api/v1/clusters";
/** What the primary needs to know of a request, and a client of its response. The others are of one connection, or say who forwarded. */
const REQUEST_FIELDS = ["accept", "authorization", "content-encoding", "content-type"];
const RESPONSE_FIELDS = [
  "accept",
  "accept-encoding",
  "allow",
  "cache-control",
  "content-type",
  "retry-after",
  "www-authenticate",
];

/**
 * Hands requests to the push API on to the primary, which checks their credentials: here only their length is bounded.
 * To be mounted at `/api/v1/clusters`.
 */
export function createPushForwarder(options: PushForwarderOptions): Hono<AppEnvironment> {
  const { primaryUrl, sentBytes, onError, fetch = globalThis.fetch } = options;
  const { origin, pathname } = new URL(primaryUrl);
  const base = `${origin}${pathname.replace(/\/+$/, "")}`;

  const forward = apiRoute({}, async ({ req }: Context): Promise<Response> => {
    const { method, headers, body, url } = req.raw;
    if (!(Number(headers.get("content-length") ?? 0) <= sentBytes)) throw tooLong(sentBytes);
    const { pathname: path, search } = new URL(url);
    const counted = new CountedBody(body, sentBytes);
    try {
      const response = await fetch(`${base}${path.slice(path.indexOf(CLUSTERS))}${search}`, {
        method,
        headers: { ...pick(headers, REQUEST_FIELDS), "accept-encoding": "identity" },
        body: counted.stream,
        // A redirect could lead a token elsewhere.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT),
        duplex: "half",
      } as RequestInit);
      if (response.status >= 300 && response.status < 400)
        throw new Error(`the primary answered ${response.status}: is CLUSTERSET_PRIMARY_URL right?`);
      return new Response(response.body, {
        status: response.status,
        headers: pick(response.headers, RESPONSE_FIELDS),
      });
    } catch (error) {
      if (counted.isTooLong) throw tooLong(sentBytes);
      onError?.(error);
      throw new ApiError(502, "PRIMARY_UNREACHABLE", "the primary did not answer this push", {
        headers: { "retry-after": "5" },
      });
    }
  });

  const routes = new Hono<AppEnvironment>();
  routes.all("*", forward);
  return routes;
}

/** A body that ends with an error when it gets longer than it may. */
class CountedBody {
  readonly stream: ReadableStream<Uint8Array> | null;
  isTooLong = false;

  constructor(body: ReadableStream<Uint8Array> | null, most: number) {
    let sent = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (part, controller) => {
        sent += part.length;
        this.isTooLong = sent > most;
        if (this.isTooLong) controller.error(new Error("the body is too long"));
        else controller.enqueue(part);
      },
    });
    this.stream = body?.pipeThrough(count) ?? null;
  }
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) picked[name] = value;
  }
  return picked;
}

function tooLong(most: number): ApiError {
  return new ApiError(413, "BODY_TOO_LARGE", `the body has more than ${most} bytes sent`);
}
