import { env } from "cloudflare:workers";
import { describeError, logJson } from "../../assembly/log.ts";
import type { App } from "../../http/app.ts";
import { cloudflareBindings, createEdgeGateway, type Environment, readSettings } from "./edge-gateway.ts";
import { answerAtEdge } from "./edge-message.ts";
import { rehearse } from "./rehearsal.ts";

export { ClustersetObject } from "./clusterset-object.ts";
export type { Environment } from "./edge-gateway.ts";

/**
 * The isolate's gateway, or the error that prevents one. It is put together while the isolate starts, because
 * that does not count as CPU time of the first request, of which the free plan has 10 ms.
 */
const gateway = await startGateway();

async function startGateway(): Promise<{ readonly app: App } | { readonly failure: unknown }> {
  try {
    const environment = env as Environment;
    const settings = readSettings(environment);
    await rehearse(settings).catch((err) =>
      logJson("error", "rehearsal-failed", "the start went on", { err }),
    );
    return { app: await createEdgeGateway(settings, cloudflareBindings(environment)) };
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
    return answerAtEdge(gateway.app, request, context);
  },
} satisfies ExportedHandler<Environment>;
