import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { LimitCounters } from "../limits/counters.ts";
import { type AuditParts, auditAnswers, type OnAnswer } from "./audit.ts";
import { STATUS } from "./messages/codes.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { ApiError, errorResponse, toApiError } from "./messages/errors.ts";
import type { ApiTable, AuditAction, RouteOf } from "./route-table.ts";

export type ApiContext = Context<AppEnvironment>;
type ApiHandler = (context: ApiContext) => Response | Promise<Response>;

/** The parts that the routes of an API share. */
interface ApiParts {
  readonly counters?: LimitCounters | undefined;
  /** Called for every error that became a 500. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * The routes of an API, to be mounted where its table says. Other methods of its paths get 405, other paths
 * 404.
 * @param admit is called before each route, and throws an `ApiError` for clients who get nothing from any
 * path. Default: the routes look at credentials
 */
export function createApiRoutes<Api extends ApiTable>(
  { name, routes }: Api,
  parts: ApiParts & AuditParts,
  handlers: Readonly<Record<RouteOf<Api>, ApiHandler>>,
  admit?: (context: ApiContext) => unknown,
): Hono<AppEnvironment> {
  const route = (handle: ApiHandler, action?: AuditAction) => {
    const admitted: ApiHandler = async (context) => {
      await admit?.(context);
      return handle(context);
    };
    return apiRoute(parts, admitted, action && auditAnswers(parts, action));
  };
  const hono = new Hono<AppEnvironment>();
  const methods = new Map<string, string[]>();
  for (const [key, action] of Object.entries(routes)) {
    const [method, path] = key.split(" ") as [string, string];
    hono.on(method, path, route(handlers[key as RouteOf<Api>], action));
    methods.set(path, [...(methods.get(path) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])]);
  }
  const rejected = admit && "read";
  for (const [path, allowed] of methods) {
    const allow = allowed.join(", ");
    const reject = ({ req }: ApiContext) => {
      throw new ApiError("METHOD_NOT_ALLOWED", `${req.method} is not for this path: ${allow}`, {
        headers: { allow },
      });
    };
    hono.all(path, route(reject, rejected));
  }
  const reject = ({ req }: ApiContext) => {
    throw new ApiError("NOT_FOUND", `the ${name} API has no resource at ${req.path}`);
  };
  hono.all("*", route(reject, rejected));
  return hono;
}

/**
 * A route of an API: an `ApiError` of its handler becomes an error response, any other error a 500 without
 * details; so does a rejection before the route.
 * @param onAnswer called for each answer
 */
export function apiRoute(
  { counters, onError }: ApiParts,
  handle: ApiHandler,
  onAnswer?: OnAnswer,
): (context: ApiContext) => Promise<Response> {
  return async (context) => {
    const rejection = context.env?.rejection;
    if (rejection !== undefined) {
      onAnswer?.(context, STATUS[rejection.code], rejection);
      return errorResponse(rejection);
    }
    try {
      const response = await handle(context);
      onAnswer?.(context, response.status);
      return response;
    } catch (error) {
      const foreseen = toApiError(error);
      if (foreseen?.limit !== undefined) counters?.hit(foreseen.limit);
      if (foreseen === undefined) onError?.(error);
      const refused =
        foreseen ?? new ApiError("INTERNAL", "the gateway failed to answer; its log has the reason");
      onAnswer?.(context, refused.status, refused, error);
      return errorResponse(refused);
    }
  };
}
