import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { PushAuthority } from "../access/authority.ts";
import { apiRoute } from "../http/api-routes.ts";
import { type AuditParts, auditAnswers, noteForAudit } from "../http/audit.ts";
import type { AppEnvironment } from "../http/messages/environment.ts";
import { ApiError, controlNotServed } from "../http/messages/errors.ts";
import { PUSH } from "../http/route-table.ts";
import { describeError, type Log } from "./log.ts";

/**
 * Sends a request of the push API to the primary.
 * @throws {ApiError} for a rejected request; any other error if the primary did not answer
 */
type SendPush = (request: Request) => Promise<Response>;

/** The parts of forwarding. */
export interface PushForwardParts extends AuditParts {
  readonly send: SendPush;
  /** Rejects pushes before they are sent. Default: only the primary checks credentials. */
  readonly authority?: PushAuthority;
  /** The error if the primary did not answer; clients retry after 5 seconds. */
  readonly unreachable: Pick<ApiError, "code" | "message">;
  /** Called after each change that the primary accepted. */
  readonly onChange: () => void;
  readonly log: Log;
}

const RETRY = { headers: { "retry-after": "5" } };
/** The methods that change a snapshot; POST renews a lease. */
const CHANGES = new Set(["PUT", "PATCH", "DELETE"]);

/**
 * The push API in front of a primary, which answers every forwarded request. Mount it at `/api/v1/clusters`.
 */
export function createPushForward(parts: PushForwardParts): Hono<AppEnvironment> {
  const { send, authority, unreachable, onChange, log } = parts;
  const forward = async (context: Context<AppEnvironment>) => {
    const { req } = context;
    const clusterId = req.param("clusterId") ?? "";
    const holder = await authority?.authorize(req.header("authorization"), undefined, clusterId);
    noteForAudit(context, { credential: holder?.credential });
    const { method } = req.raw;
    const response = await send(req.raw).catch((err) => {
      if (err instanceof ApiError) throw err;
      log("error", "push-not-forwarded", describeError(err), { clusterId, err });
      throw new ApiError(unreachable.code, unreachable.message, RETRY);
    });
    if (response.ok && CHANGES.has(method)) onChange();
    return response;
  };
  // The primary's answers are in its own audit log.
  const route: typeof forward = (context) => apiRoute({}, forward, auditAnswers(parts, "forward"))(context);
  const routes = new Hono<AppEnvironment>();
  routes.get("/:clusterId/desired", apiRoute({}, controlNotServed));
  routes.all("/:clusterId{[^/]+}/*", route);
  routes.all("/:clusterId", route);
  return routes;
}

/** A primary that is reached over HTTP. */
interface HttpPrimary {
  /** The URL of the gateway that takes pushes; it may have a path before `/api/v1`. */
  readonly primaryUrl: string;
  /** The longest forwarded body in bytes. */
  readonly sentBytes: number;
  /** Default: the host's. */
  readonly fetch?: (url: string, request: RequestInit) => Promise<Response>;
}

/** The longest time for the primary's answer, in milliseconds. */
const TIMEOUT = 30_000;
/**
 * The forwarded header fields of requests and responses. Other fields belong to one connection, or name the
 * forwarder.
 */
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

/** Sends pushes over HTTP, and limits their length; the primary checks everything else. */
export function sendOverHttp({ primaryUrl, sentBytes, fetch = globalThis.fetch }: HttpPrimary): SendPush {
  const { origin, pathname } = new URL(primaryUrl);
  const base = `${origin}${pathname.replace(/\/+$/, "")}`;
  return async ({ method, headers, body, url }) => {
    if (!(Number(headers.get("content-length") ?? 0) <= sentBytes)) throw tooLong(sentBytes);
    const { pathname: path, search } = new URL(url);
    const counted = new CountedBody(body, sentBytes);
    try {
      const response = await fetch(`${base}${path.slice(path.indexOf(PUSH.mount))}${search}`, {
        method,
        headers: { ...pick(headers, REQUEST_FIELDS), "accept-encoding": "identity" },
        body: counted.stream,
        // A redirect could send a token elsewhere.
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
      throw counted.isTooLong ? tooLong(sentBytes) : error;
    }
  };
}

/** A body that fails above the limit on its length. */
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
  return new ApiError("BODY_TOO_LARGE", `the body has more than ${most} bytes sent`);
}
