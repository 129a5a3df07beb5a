import { EdgeConnection, exchangeAtEdge, isDnsQuery } from "./edge-exchange.ts";
import { createEdgeGateway, type EdgeGateway } from "./edge-gateway.ts";
import type { Environment } from "./environment.ts";
import { log } from "./event-log.ts";

export { ClustersetObject } from "./clusterset-object.ts";

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

let gateway: EdgeGateway | undefined;

export default {
  fetch(request, environment, context) {
    try {
      gateway ??= createEdgeGateway(environment);
    } catch (error) {
      log("error", "not-configured", error instanceof Error ? error.message : String(error));
      return new Response("this gateway is not configured; its log says why\n", { status: 500 });
    }
    const { secondary, resource, app } = gateway;
    const answer = isDnsQuery(request)
      ? () => exchangeAtEdge(resource, request)
      : () => app.fetch(request, new EdgeConnection(request));
    if (WITHOUT_IMAGE.test(request.url)) return answer();
    const fresh = secondary.freshen(Date.now(), (work) => context.waitUntil(work));
    return fresh === undefined ? answer() : fresh.then(answer);
  },
} satisfies ExportedHandler<Environment>;
