import type { Hono } from "hono";
import type { ServingStatus } from "../../gateway/gateway-types.ts";
import type { Objections } from "../../names/services.ts";
import { describeReadiness, statusReport } from "../cluster-state.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { jsonResponse } from "../messages/errors.ts";

const HEADERS = { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" };

/**
 * `/status`: clusters, services, conflicts and findings in JSON, as far as they exist for the client.
 * `/healthz`: the process answers. `/readyz`: queries get answers (200), or not (503); clients who see
 * everything also get the number of clusters, or the reason. `/metrics`, for clients who see everything.
 * @param gateway the gateway whose readiness is public
 * @param clock Unix milliseconds
 */
export function mountHealthRoutes(
  app: Hono<AppEnvironment>,
  gateway: { status(): ServingStatus },
  clock: () => number,
): void {
  app.get("/healthz", () => new Response("ok\n", { headers: HEADERS }));
  app.get("/readyz", (c) => {
    const answers = c.env?.answers;
    const detailed = answers?.seesEverything === true ? answers : undefined;
    const status = (detailed?.gateway ?? gateway).status();
    const text =
      detailed === undefined ? (status.ready ? "ready" : "not ready") : describeReadiness(status, clock());
    return new Response(`${text}\n`, { status: status.ready ? 200 : 503, headers: HEADERS });
  });
  app.get("/status", async (c) => {
    const answers = c.env?.answers;
    if (answers === undefined) return c.notFound();
    const listed = answers.listed();
    const objections = await listed?.merged?.survey();
    const status = answers.gateway.status();
    const { services = (await listed?.services?.(ALL))?.total } = status;
    return jsonResponse(200, statusReport({ ...status, services }, objections, clock()));
  });
  app.get("/metrics", async (c) => {
    const metrics = c.env?.answers?.metrics;
    if (metrics === undefined) return c.notFound();
    const text = await metrics.render();
    return new Response(text, { headers: { ...HEADERS, "content-type": metrics.contentType } });
  });
}

/** The number of all services. */
const ALL = { words: [], view: undefined, offset: 0, most: 0 };

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /**
   * Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which
   * does not know them.
   */
  survey?(): Promise<Objections | undefined>;
}
