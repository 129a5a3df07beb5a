import { describeError, logJson } from "../secondary/json-log.ts";
import { EdgeConnection, type EdgeRequest, exchangeAtEdge } from "./edge-exchange.ts";
import { createEdgeGateway, type EdgeGateway } from "./edge-gateway.ts";
import type { Environment } from "./environment.ts";

export { ClustersetObject } from "./clusterset-object.ts";

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

let gateway: EdgeGateway | undefined;

export default {
  fetch(request, environment, context) {
    try {
      gateway ??= createEdgeGateway(environment);
    } catch (error) {
      logJson("error", "not-configured", describeError(error));
      return new Response("this gateway is not configured; its log says why\n", { status: 500 });
    }
    return exchangeAtEdge(gateway, request, context) ?? answerByApp(gateway, request, context);
  },
} satisfies ExportedHandler<Environment>;

async function answerByApp(
  { secondary, app }: EdgeGateway,
  request: EdgeRequest,
  context: ExecutionContext,
): Promise<Response> {
  if (!WITHOUT_IMAGE.test(request.url))
    await secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return app.fetch(request, new EdgeConnection(request));
}
