import { env } from "cloudflare:workers";
import { describeError, logJson } from "../logging/json-log.ts";
import type { SecondarySite } from "../secondary/sites.ts";
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
  { admitted: { app }, behind }: FewEdge,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> {
  const prepare = ({ secondary }: SecondarySite) =>
    secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return behind((one, connection) => app.fetch(one, connection, prepare))(
    request,
    new EdgeConnection(request),
  );
}

async function answerByApp(
  { secondary, fetch }: OpenEdge,
  request: EdgeRequest,
  context: ExecutionContext,
): Promise<Response> {
  if (!WITHOUT_IMAGE.test(request.url))
    await secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return fetch(request, new EdgeConnection(request));
}
