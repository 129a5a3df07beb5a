import { type AppDependencies, createApp } from "../../http/app.ts";
import { createClientAddress } from "../../http/client-address.ts";
import type { Connection } from "../../http/connection.ts";
import { createDnsResource } from "../../http/dns-resource.ts";
import { fetchBehindGate } from "../../http/request-gate.ts";
import { EVERYTHING, type Scope } from "../../merge/scope.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { type Background, Secondary } from "../../transfer/secondary.ts";
import { describeError, type Log, logJson, logTransfers, logUpstreams } from "../logging/json-log.ts";
import { gateOfClients } from "../settings/client-gate.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { pagesOfSecondary } from "../settings/pages-of-secondary.ts";
import { createEdgeAuthority } from "../settings/push-credentials.ts";
import { createStages } from "../settings/stages.ts";
import { createPushForwarder } from "./push-forwarder.ts";
import type { SecondarySettings } from "./settings.ts";

/** A gateway that keeps nothing: it answers from the primary's image, and hands pushes on to the primary. */
export interface SecondaryHost {
  /** @param background takes what goes on after the response; default: it just goes on, as in a process that lives */
  fetch(request: Request, connection: Connection, background?: Background): Promise<Response>;
}

/** Paths that are answered without the image. */
const WITHOUT_IMAGE = /^https?:\/\/[^/]+\/(?:api\/|healthz$)/;

/** Puts a secondary together. */
export function createSecondaryHost(
  settings: SecondarySettings,
  version: string,
  log: Log = logJson,
): SecondaryHost {
  const { config, credentials, primaryUrl, transferToken } = settings;
  const stages = createStages({ ...config, federations: federationOptions(config.federations) });
  const createSecondary = (scope: Scope) =>
    new Secondary({
      source: new HttpTransferSource({ gateway: primaryUrl, token: transferToken, scope }),
      stages,
      scope,
      onEvent: logTransfers(log),
    });
  const secondary = createSecondary(EVERYTHING);
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    onUpstreamChange: logUpstreams(log),
  });
  const dependencies: AppDependencies = {
    gateway: secondary,
    clock: Date.now,
    zones: config.zones,
    version,
    pushRoutes: createPushForwarder({
      primaryUrl,
      sentBytes: config.limits.pushSentBytes,
      onError: (error) => log("error", "forward-failed", describeError(error)),
    }),
    askers: {
      ...(credentials.length > 0 && {
        credentials: createEdgeAuthority(credentials, {
          onFailure: (url, error) => log("warn", "keys-unavailable", describeError(error), { url }),
        }),
      }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
    },
    ...(outside !== undefined && { outside }),
    policies,
    clientAddress: createClientAddress(config.clients),
    location: locationSettings(config.location),
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    ...(config.pages.enabled && { pages: pagesOfSecondary(secondary, config) }),
    onError: (error) => log("error", "request-failed", describeError(error)),
  };
  const resource = createDnsResource(dependencies);
  const app = createApp(dependencies, resource);
  const gated = fetchBehindGate(gateOfClients(config.clients, resource));
  const answer = gated((request, connection) => app.fetch(request, connection));
  return {
    async fetch(request, connection, background) {
      if (!WITHOUT_IMAGE.test(request.url)) await secondary.freshen(Date.now(), background);
      return answer(request, connection);
    },
  };
}
