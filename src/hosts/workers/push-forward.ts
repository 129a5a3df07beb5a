import { type Context, Hono } from "hono";
import type { PushAuthority } from "../../access/authority.ts";
import { ApiError, apiRoute } from "../../http/api-error.ts";
import type { AppEnvironment } from "../../http/environment.ts";
import { logFailure } from "./event-log.ts";

/** What changes a snapshot; POST renews a lease. */
const CHANGES = new Set(["PUT", "PATCH", "DELETE"]);

/**
 * The push API in front of the object, to be mounted at `/api/v1/clusters`: who shows nothing of the cluster is refused here and never
 * reaches the object; everything else is the object's to answer.
 * @param onChange told of each change of what is answered that the object took
 */
export function createPushForward(
  authority: PushAuthority,
  forward: (request: Request) => Promise<Response>,
  onChange: () => void = () => {},
): Hono<AppEnvironment> {
  const routes = new Hono<AppEnvironment>();
  const route = apiRoute({}, async ({ req }: Context<AppEnvironment>) => {
    const clusterId = req.param("clusterId") ?? "";
    await authority.authorize(req.header("authorization"), undefined, clusterId);
    const { method } = req.raw;
    const response = await forward(req.raw).catch((error) => {
      logFailure("push-not-forwarded", "the object could not be reached", error, { clusterId });
      throw new ApiError(503, "BUSY", "the gateway's object could not be reached: try again later", {
        headers: { "retry-after": "5" },
      });
    });
    if (response.ok && CHANGES.has(method)) onChange();
    return response;
  });
  routes.all("/:clusterId{[^/]+}/*", route);
  routes.all("/:clusterId", route);
  return routes;
}
