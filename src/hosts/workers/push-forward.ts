import { Hono } from "hono";
import type { PushAuthority } from "../../access/push-authority.ts";
import type { AppEnvironment } from "../../http/environment.ts";
import { authorizePush } from "../../http/push/push-access.ts";
import { PushFault, refusePush } from "../../http/push/push-fault.ts";
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
  const handle = async (request: Request, clusterId: string, authorization: string | undefined) => {
    try {
      await authorizePush(authority, authorization, undefined, clusterId);
    } catch (error) {
      const refusal = refusePush(error);
      if (refusal !== undefined) return refusal;
      throw error;
    }
    try {
      const { method } = request;
      const response = await forward(request);
      if (response.ok && CHANGES.has(method)) onChange();
      return response;
    } catch (error) {
      logFailure("push-not-forwarded", "the object could not be reached", error, { clusterId });
      const fault = new PushFault(503, "BUSY", "the gateway's object could not be reached: try again later", {
        headers: { "retry-after": "5" },
      });
      return refusePush(fault)!;
    }
  };
  routes.all("/:clusterId{[^/]+}/*", ({ req }) =>
    handle(req.raw, req.param("clusterId"), req.header("authorization")),
  );
  routes.all("/:clusterId", ({ req }) =>
    handle(req.raw, req.param("clusterId"), req.header("authorization")),
  );
  return routes;
}
