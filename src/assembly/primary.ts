import type { ClientAddress } from "../access/client/client-address.ts";
import { type AccessRules, visibilitiesOf } from "../access/rules/access-rule.ts";
import type { QueryCounters } from "../answer/query-counters.ts";
import type { Clock } from "../gateway/clock.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { GatewayStages } from "../gateway/stages.ts";
import type { AuditLog } from "../http/audit/audit.ts";
import { createPushRoutes } from "../http/push/push-routes.ts";
import { createTransferRoutes } from "../http/transfer-routes.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { type Log, logGateway } from "./log.ts";
import type { Answers, GatewayConfig, PrimaryParts } from "./platform.ts";

/** The parts of an assembly that a primary shares. */
export interface PrimarySurroundings {
  readonly config: Pick<GatewayConfig, "lease" | "limits">;
  readonly stages: GatewayStages<Generation>;
  readonly rules: AccessRules;
  readonly counters?: QueryCounters;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit?: AuditLog | undefined;
  readonly clientAddress?: ClientAddress | undefined;
}

/** A primary, with its gateway. */
export interface PrimaryAnswers extends Answers {
  readonly gateway: Gateway<Generation>;
}

/**
 * Opens a primary over its store. It answers from all stored live snapshots once `gateway.started` resolves; leases can be renewed at once.
 * @throws {StoreError} if the store cannot be loaded
 */
export async function openPrimary(
  { config, stages, rules, counters, clock, log, audit, clientAddress }: PrimarySurroundings,
  {
    store,
    damage,
    remembered,
    watchLeases,
    share,
    generations,
    onLoaded,
    authority,
    explainer,
    control,
    transfer,
    transferKey,
  }: PrimaryParts,
): Promise<PrimaryAnswers> {
  const gateway = await Gateway.load({
    ...{ store, stages, clock },
    ...(damage && { damage }),
    ...(remembered && { remembered }),
    ...(watchLeases && { watchLeases }),
    ...(share && { share }),
    ...(generations && { generations }),
    ...(control && { control: control.control }),
    onEvent: logGateway(log),
    limits: { ...config.limits, lease: config.lease },
    scopes: visibilitiesOf(rules),
  });
  onLoaded?.(gateway);
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  return {
    gateway,
    of: ({ visibility }) => {
      const within = gateway.within(visibility);
      const listed = () => {
        const served = within.current(clock.now());
        return served && { ...served, explainer };
      };
      return { gateway: within, listed };
    },
    pushRoutes: createPushRoutes({
      openDesired: control?.createRoute({
        gateway,
        clock,
        counts: control.counts,
        limits: control.limits,
        counters: counters?.limits,
        onError,
      }),
      ...{ gateway, authority, onError, limits: config.limits, audit, clientAddress },
      ...(counters && { counters: counters.limits }),
    }),
    ...(transfer && {
      transferRoutes: createTransferRoutes({
        ...{ gateway, onError, clock: clock.now, key: transferKey, audit, clientAddress },
        ...(transfer !== "public" && { authority: transfer }),
      }),
    }),
    close: () => gateway.close(),
  };
}

/** Opens a primary, which has started when this resolves. @throws {StoreError} as `openPrimary` */
export async function startPrimary(
  surroundings: PrimarySurroundings,
  parts: PrimaryParts,
): Promise<PrimaryAnswers> {
  const primary = await openPrimary(surroundings, parts);
  await primary.gateway.started;
  return primary;
}
