import { isStated } from "../../config/access.ts";
import type { AdmittedGateway } from "../../http/access/admitted.ts";
import { type AppDependencies, createApp } from "../../http/app.ts";
import { createDnsResource } from "../../http/doh/dns-resource.ts";
import { createStatusMetrics } from "../../http/metrics/status-metrics.ts";
import { createRefuse } from "../../http/refusal.ts";
import { behindGate, type FetchHandler, fetchBehindGate, type RequestGate } from "../../http/request-gate.ts";
import { EVERYTHING } from "../../merge/scope.ts";
import { ACCESS_NOT_STATED } from "../settings/asking.ts";
import { gateOfClients } from "../settings/client-gate.ts";
import { pagesOfSecondary } from "../settings/pages-of-secondary.ts";
import { createSecondarySites, type SecondarySite } from "../settings/sites-of-secondary.ts";
import { createEdgeParts, type EdgeDns } from "./edge-dns.ts";
import type { WorkerSettings } from "./environment.ts";
import type { Surroundings } from "./surroundings.ts";

/** What an isolate answers requests with, where everybody gets the same answers. */
export interface OpenEdge extends EdgeDns {
  /** The application. */
  readonly fetch: FetchHandler;
}

/** Where answers depend on who asks. */
export interface FewEdge {
  readonly admitted: AdmittedGateway<SecondarySite>;
  /** The limits on clients. */
  readonly gate: RequestGate | undefined;
}

/** What an isolate answers requests with: for everybody, or for whoever asks. */
export type EdgeGateway = OpenEdge | FewEdge;

/** Puts together what an isolate answers with. */
export function createEdgeGateway(settings: WorkerSettings, surroundings: Surroundings): EdgeGateway {
  const { config, asking } = settings;
  const { secondaryOf, common } = createEdgeParts(settings, surroundings);
  const { counters } = common;
  const gate = gateOfClients(config.clients, {
    counters,
    refuse: createRefuse(config.cors.origins, counters),
  });
  if (!isStated(config.access)) surroundings.log("warn", "access-not-stated", ACCESS_NOT_STATED);
  if (!asking.isForEverybody)
    return {
      admitted: createSecondarySites({ ...asking, config, secondaryOf, common, hasMetrics: true }),
      gate,
    };
  const secondary = secondaryOf(EVERYTHING);
  const dependencies: AppDependencies = {
    ...common,
    gateway: secondary,
    ...(config.pages.enabled && { pages: pagesOfSecondary(secondary, config) }),
    metrics: createStatusMetrics(secondary, common.clock),
  };
  const resource = createDnsResource(dependencies);
  const app = createApp(dependencies, resource);
  return {
    secondary,
    resource: { ...resource, answerDns: behindGate(gate)(resource.answerDns) },
    fetch: fetchBehindGate(gate)((request, client) => app.fetch(request, client)),
  };
}
