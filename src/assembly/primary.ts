import type { ClientAddress } from "../access/client/client-address.ts";
import { type AccessRules, visibilitiesOf } from "../access/rules/access-rule.ts";
import type { QueryCounters } from "../answer/query-counters.ts";
import { Reader } from "../database/reader.ts";
import { Writer } from "../database/writer.ts";
import type { Clock } from "../gateway/clock.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { OnGatewayEvent } from "../gateway/gateway-events.ts";
import type { AuditLog } from "../http/audit/audit.ts";
import type { Listed } from "../http/pages/directory.ts";
import { createPushRoutes } from "../http/push/push-routes.ts";
import { createTransferRoutes } from "../http/transfer-routes.ts";
import { Accounts } from "../names/accounts.ts";
import { type Log, logGateway } from "./log.ts";
import type { Answers, GatewayConfig, PrimaryParts, Stages } from "./platform.ts";
import { settingsText } from "./stages.ts";

/** The parts of an assembly that a primary shares. */
export interface PrimarySurroundings {
  readonly config: Pick<GatewayConfig, "lease" | "limits">;
  readonly stages: Stages;
  readonly rules: AccessRules;
  readonly counters?: QueryCounters;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit?: AuditLog | undefined;
  readonly clientAddress?: ClientAddress | undefined;
}

/** A primary, with its gateway. */
export interface PrimaryAnswers extends Answers {
  readonly gateway: Gateway;
}

/** Opens a primary over its database. */
export async function openPrimary(
  { config, stages, rules, counters, clock: own, log, audit, clientAddress }: PrimarySurroundings,
  parts: PrimaryParts,
): Promise<PrimaryAnswers> {
  const { database, openOrder, onOpened, authority, explainer, control, transfer, transferKey } = parts;
  const { watchLeases, onChange, onLeaseHeld, hold } = parts;
  const damage = { count: 0 };
  const logEvent = logGateway(log);
  const onEvent: OnGatewayEvent = (event) => {
    if (event.event === "rows-damaged") damage.count++;
    logEvent(event);
  };
  const writer = new Writer(database, (found) => onEvent({ event: "rows-damaged", ...found }));
  const order = await openOrder?.({ database, writer, clock: own, onEvent });
  const clock = order?.clock ?? own;
  const reader = new Reader(database, (found) => clock.setTimer(0, () => gateway.damaged(found)));
  const gateway = new Gateway({
    writer,
    order,
    hold,
    reader,
    names: stages.names,
    queries: stages,
    clock,
    onEvent,
    limits: { ...config.limits, lease: config.lease },
    scopes: visibilitiesOf(rules),
    control: control?.control,
    watchLeases,
    onChange,
    onLeaseHeld,
  });
  onOpened?.(gateway);
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  return {
    gateway,
    damage,
    of: ({ visibility }) => {
      const within = gateway.within(visibility);
      const listed = (): Listed | undefined => {
        const current = within.current();
        if (current === undefined) return undefined;
        const { world } = current;
        const accounts = new Accounts(world);
        return {
          world,
          merged: { accounts, explainer, turns: gateway.turns, survey: () => within.survey() },
        };
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
      gateway,
      authority,
      onError,
      limits: config.limits,
      audit,
      clientAddress,
      ...(counters && { counters: counters.limits }),
    }),
    ...(transfer && {
      transferRoutes: createTransferRoutes({
        gateway: gateway.state,
        reader,
        turns: gateway.turns,
        settings: settingsText(stages.names),
        clock: () => clock.now(),
        key: transferKey,
        onError,
        audit,
        clientAddress,
        ...(transfer !== "public" && { authority: transfer }),
      }),
    }),
    close: async () => {
      await gateway.close();
      database.close();
    },
  };
}
