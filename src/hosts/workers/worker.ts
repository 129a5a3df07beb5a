import { env } from "cloudflare:workers";
import { fetchBehindGate } from "../../http/request-gate.ts";
import { describeError, logJson } from "../logging/json-log.ts";
import type { SecondarySite } from "../settings/sites-of-secondary.ts";
import { EdgeConnection, type EdgeRequest, exchangeAtEdge, exchangeForFew } from "./edge-exchange.ts";
import { createEdgeGateway, type EdgeGateway, type FewEdge, type OpenEdge } from "./edge-gateway.ts";
import { type Environment, readSettings } from "./environment.ts";
import { logFailure } from "./event-log.ts";
import { rehearse } from "./rehearsal.ts";
import { cloudflareSurroundings } from "./surroundings.ts";

export { ClustersetObject } from "./clusterset-object.ts";

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

/**
 * What the isolate answers with, or why it cannot. It is put together while the isolate starts, because that does not count as CPU
 * time of its first request, of which the free plan has 10 ms.
 */
const gateway = await startGateway();

async function startGateway(): Promise<EdgeGateway | { readonly failure: unknown }> {
  try {
    const environment = env as Environment;
    const settings = readSettings(environment);
    await rehearse(settings).catch((error) => logFailure("rehearsal-failed", "the start went on", error));
    return createEdgeGateway(settings, cloudflareSurroundings(environment));
  } catch (failure) {
    return { failure };
  }
}

export default {
  fetch(request, _environment, context) {
    if ("failure" in gateway) {
      logJson("error", "not-configured", describeError(gateway.failure));
      return new Response("this gateway is not configured; its log has the reason\n", { status: 500 });
    }
    if ("admitted" in gateway)
      return exchangeForFew(gateway, request, context) ?? answerFew(gateway, request, context);
    return exchangeAtEdge(gateway, request, context) ?? answerByApp(gateway, request, context);
  },
} satisfies ExportedHandler<Environment>;

function answerFew(
  { admitted: { app }, gate }: FewEdge,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> {
  const prepare = ({ secondary }: SecondarySite) =>
    secondary.freshen(Date.now(), (work) => context.waitUntil(work));
  return fetchBehindGate(gate)((one, client) => app.fetch(one, client, prepare))(
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
