import type { Client } from "../../access/client/client.ts";
import { createClientAddress } from "../../access/client/client-address.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import { isStated } from "../../config/access.ts";
import { federationOptions } from "../../config/federations.ts";
import { locationSettings } from "../../config/location.ts";
import { createEdgeAuthority } from "../../config/push-credentials.ts";
import { type Clock, waitingClock } from "../../gateway/clock.ts";
import { createApp } from "../../http/app.ts";
import { createRefuse } from "../../http/refusal.ts";
import { fetchBehindGate } from "../../http/request-gate.ts";
import type { Visibility } from "../../merge/visibility.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { type Background, Secondary } from "../../transfer/secondary.ts";
import { describeError, type Log, logJson, logTransfers, logUpstreams } from "../logging/json-log.ts";
import { gateOfClients } from "../settings/client-gate.ts";
import { ACCESS_NOT_STATED, createEdgeAdmission } from "../settings/edge-admission.ts";
import { createOutside, fetchUpstreams } from "../settings/outside.ts";
import { createSecondaries } from "../settings/secondaries.ts";
import { createStages } from "../settings/stages.ts";
import { createPushForwarder } from "./push-forwarder.ts";
import type { SecondarySettings } from "./settings.ts";

/** A gateway that keeps nothing: it answers from the primary's image, and hands pushes on to the primary. */
export interface SecondaryHost {
  /** @param background takes what goes on after the response; default: it just goes on, as in a process that lives */
  fetch(request: Request, client: Client, background?: Background): Promise<Response>;
}

/**
 * Puts a secondary together.
 * @param clock default: the wall clock, which goes on while a function is frozen
 */
export function createSecondaryHost(
  settings: SecondarySettings,
  version: string,
  log: Log = logJson,
  clock: Clock = waitingClock,
): SecondaryHost {
  const { config, credentials, primaryUrl, transferToken } = settings;
  const stages = createStages({ ...config, federations: federationOptions(config.federations) });
  const secondaryOf = (scope: Visibility) =>
    new Secondary({
      source: new HttpTransferSource({ gateway: primaryUrl, token: transferToken, scope, clock: clock.now }),
      stages,
      scope,
      clock,
      onEvent: logTransfers(log),
    });
  const { outside, policies } = createOutside(config, {
    upstreams: fetchUpstreams(config.forward),
    onUpstreamChange: logUpstreams(log),
  });
  const keys = {
    onFailure: (url: string, error: unknown) =>
      log("warn", "keys-unavailable", describeError(error), { url }),
  };
  const canPush = credentials.length > 0;
  const counters = new QueryCounters();
  const refuse = createRefuse(config.cors.origins, counters);
  const behind = fetchBehindGate(gateOfClients(config.clients, { counters, refuse }));
  const clientAddress = createClientAddress(config.clients);
  const access = createEdgeAdmission({ access: config.access, canPush, keys, clientAddress });
  const app = createApp({
    ...createSecondaries({
      ...{ config, secondaryOf, clock: clock.now, hasMetrics: false },
      rules: access.rules,
    }),
    ...{ access, counters },
    clock: clock.now,
    zones: config.zones,
    version,
    pushRoutes: createPushForwarder({
      primaryUrl,
      sentBytes: config.limits.pushSentBytes,
      onError: (error) => log("error", "forward-failed", describeError(error)),
    }),
    views: {
      ...(canPush && { credentials: createEdgeAuthority(credentials, keys) }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
      location: locationSettings(config.location),
    },
    ...(outside !== undefined && { outside }),
    policies,
    clientAddress,
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    onError: (error: Error) => log("error", "request-failed", describeError(error)),
  });
  if (!isStated(config.access)) log("warn", "access-not-stated", ACCESS_NOT_STATED);
  const answer = behind((request, client, background) => app.fetch(request, client, background));
  return { fetch: async (request, client, background) => answer(request, client, background) };
}
