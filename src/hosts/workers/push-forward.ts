import { Hono } from "hono";
import type { PushAuthority } from "../../access/push-authority.ts";
import type { ConnectionEnvironment } from "../../http/connection.ts";
import { authorizePush } from "../../http/push-access.ts";
import { PushFault, refusePush } from "../../http/push-fault.ts";
import { logFailure } from "./event-log.ts";

/**
 * The push API in front of the object, to be mounted at `/api/v1/clusters`: who shows nothing of the cluster is refused here and never
 * reaches the object; everything else is the object's to answer.
 */
export function createPushForward(
  authority: PushAuthority,
  forward: (request: Request) => Promise<Response>,
): Hono<ConnectionEnvironment> {
  const routes = new Hono<ConnectionEnvironment>();
  const handle = async (request: Request, clusterId: string, authorization: string | undefined) => {
    try {
      await authorizePush(authority, authorization, undefined, clusterId);
    } catch (error) {
      const refusal = refusePush(error);
      if (refusal !== undefined) return refusal;
      throw error;
    }
    try {
      return await forward(request);
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
