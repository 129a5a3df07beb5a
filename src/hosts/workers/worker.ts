import { env } from "cloudflare:workers";
import { describeError, logJson } from "../logging/json-log.ts";
import { EdgeConnection, type EdgeRequest, exchangeAtEdge, exchangeForFew } from "./edge-exchange.ts";
import { createEdgeGateway, type EdgeGateway, type FewEdge, type OpenEdge } from "./edge-gateway.ts";
import type { Environment } from "./environment.ts";

export { ClustersetObject } from "./clusterset-object.ts";

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

/**
 * What the isolate answers with, or why it cannot. It is put together while the isolate starts, because that does not count as CPU
 * time of its first request, of which the free plan has 10 ms.
 */
const gateway = startGateway();

function startGateway(): EdgeGateway | { readonly failure: unknown } {
  try {
    return createEdgeGateway(env as Environment);
  } catch (failure) {
    return { failure };
  }
}

export default {
  fetch(request, _environment, context) {
    if ("failure" in gateway) {
      logJson("error", "not-configured", describeError(gateway.failure));
      return new Response("this gateway is not configured; its log says why\n", { status: 500 });
    }
    if ("admitted" in gateway)
      return exchangeForFew(gateway, request, context) ?? answerFew(gateway, request, context);
    return exchangeAtEdge(gateway, request, context) ?? answerByApp(gateway, request, context);
  },
} satisfies ExportedHandler<Environment>;

function answerFew(
  { admitted: { app } }: FewEdge,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> {
  return app.fetch(request, new EdgeConnection(request), ({ secondary }) =>
    secondary.freshen(Date.now(), (work) => context.waitUntil(work)),
  );
}

async function answerByApp(
  { secondary, app }: OpenEdge,
  request: EdgeRequest,
  context: ExecutionContext,
): Promise<Response> {
  if (!WITHOUT_IMAGE.test(request.url))
    await secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return app.fetch(request, new EdgeConnection(request));
}
