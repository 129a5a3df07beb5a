import { visibilitiesOf } from "../access/rule.ts";
import { Reader } from "../database/reader.ts";
import { Writer } from "../database/writer.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { OnGatewayEvent } from "../gateway/gateway-types.ts";
import type { Listed } from "../http/pages/directory.ts";
import { createPushRoutes } from "../http/push/pushing.ts";
import { createTransferRoutes } from "../http/transfer.ts";
import { Accounts, objectionsIn } from "../names/services.ts";
import { logGateway } from "./log.ts";
import type { Answers, AnswersContext, PrimaryParts } from "./platform.ts";
import { settingsText } from "./stages.ts";

/** Opens a primary over its database. */
export async function openPrimary(
  { config, stages, access, clusterIds, counters, clock: own, log, audit }: AnswersContext,
  parts: PrimaryParts,
): Promise<Answers> {
  const { database, openOrder, onOpened, authority, explainer, control, transfer, transferKey } = parts;
  const { clientAddress } = access;
  const { watchLeases, onChange, onLeaseHeld, hold } = parts;
  const logEvent = logGateway(log);
  const onEvent: OnGatewayEvent = (event) => {
    if (event.event === "rows-damaged" && counters !== undefined) counters.damagedRows++;
    logEvent(event);
  };
  const writer = new Writer(
    database,
    (found) => onEvent({ event: "rows-damaged", ...found }),
    () => own.now(),
  );
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
    scopes: visibilitiesOf(access.rules),
    clusterIds,
    control: control?.control,
    watchLeases,
    onChange,
    onLeaseHeld,
  });
  onOpened?.(gateway);
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  return {
    gateway: gateway.everything,
    load: gateway.turns.later,
    of: ({ visibility }) => {
      const within = gateway.within(visibility);
      const listed = (): Listed | undefined => {
        const current = within.current();
        if (current === undefined) return undefined;
        const { world } = current;
        const accounts = new Accounts(world);
        return {
          world,
          view: visibility.view,
          merged: {
            accounts,
            explainer,
            turns: gateway.turns,
            withNames: within.withNames,
            survey: async () => {
              const all = await within.survey();
              return all && gateway.turns.later.run(objectionsIn(accounts, visibility.view, all));
            },
          },
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
      counters: counters?.limits,
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
