import { locationOf } from "./cf-location.ts";
import { createEdgeGateway, type EdgeGateway } from "./edge-gateway.ts";
import type { Environment } from "./environment.ts";
import { log } from "./event-log.ts";

export { ClustersetObject } from "./clusterset-object.ts";

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

let gateway: EdgeGateway | undefined;

export default {
  async fetch(request, environment, context) {
    try {
      gateway ??= createEdgeGateway(environment);
    } catch (error) {
      log("error", "not-configured", error instanceof Error ? error.message : String(error));
      return new Response("this gateway is not configured; its log says why\n", { status: 500 });
    }
    if (!WITHOUT_IMAGE.test(request.url)) {
      const fresh = gateway.secondary.freshen(Date.now(), (work) => context.waitUntil(work));
      if (fresh !== undefined) await fresh;
    }
    return gateway.app.fetch(request, {
      // Cloudflare overwrites what the client sends by that name.
      clientAddress: request.headers.get("cf-connecting-ip") ?? undefined,
      clientCertificate: "none",
      get location() {
        return locationOf(request.cf);
      },
    });
  },
} satisfies ExportedHandler<Environment>;
