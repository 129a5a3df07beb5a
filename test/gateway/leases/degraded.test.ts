import { expect, it } from "vitest";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import type { Degradation } from "../../../src/snapshot/report/degradation.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { openPair } from "../../transfer/pair.ts";
import { FakeClock, settle } from "../fake-clock.ts";
import { putSnapshot } from "../pushes.ts";
import { realStages } from "../real-stages.ts";

const UNREACHABLE: Degradation = { reason: "API_UNREACHABLE", seconds: 30 };
const FORBIDDEN: Degradation = { reason: "RBAC_FORBIDDEN", seconds: 10, subject: "services" };

async function openGateway(store = createMemoryStore(), clock = new FakeClock()) {
  const events: GatewayEvent[] = [];
  const opening = Gateway.open({
    ...{ store, clock, stages: realStages() },
    onEvent: (event) => {
      if (/degraded|recovered/.test(event.event)) events.push(event);
    },
  });
  await settle();
  const gateway = await opening;
  const done = async <Result>(work: Promise<Result>) => {
    await settle();
    await clock.advance(5);
    return work;
  };
  return { store, clock, gateway, events, done };
}

it("the log says once what a worker reports, and that it reports nothing any more", async () => {
  const { gateway, events, done } = await openGateway();
  const { generation } = await done(
    putSnapshot(gateway, shopSnapshot("west"), { leaseSeconds: 60, degraded: [UNREACHABLE] }),
  );
  const degraded = [{ reason: "API_UNREACHABLE" }];
  expect(events).toEqual([{ event: "worker-degraded", clusterId: "west", degraded }]);
  for (const seconds of [40, 60, 80])
    await done(
      gateway.renew("west", generation, { leaseSeconds: 60, degraded: [{ ...UNREACHABLE, seconds }] }),
    );
  expect(events).toHaveLength(1);
  await done(gateway.renew("west", generation, { leaseSeconds: 60, degraded: [UNREACHABLE, FORBIDDEN] }));
  expect(events[1]).toMatchObject({ degraded: [...degraded, { subject: "services" }] });
  await done(gateway.renew("west", generation));
  await done(gateway.renew("west", generation));
  expect(events.slice(2)).toEqual([{ event: "worker-recovered", clusterId: "west" }]);
});

it("a restarted gateway still knows it, and does not log it again", async () => {
  const { store, clock, gateway, done } = await openGateway();
  const { generation } = await done(putSnapshot(gateway, shopSnapshot("west")));
  await done(gateway.renew("west", generation, { leaseSeconds: 60, degraded: [UNREACHABLE] }));
  const { degraded } = gateway.status().clusters[0]!;
  await clock.advance(5000);
  const restarted = await openGateway(store, clock);
  expect(restarted.gateway.status().clusters[0]!.degraded).toEqual(degraded);
  await restarted.done(
    restarted.gateway.renew("west", generation, {
      leaseSeconds: 60,
      degraded: [{ ...UNREACHABLE, seconds: 35 }],
    }),
  );
  expect(restarted.events).toEqual([]);
});

it("a secondary takes it over with the primary's state, and its end as well", async () => {
  const { clock, gateway, secondary, done, push, ask } = await openPair();
  await push("west", 1);
  const { generation } = gateway.status().clusters[0]!;
  await done(gateway.renew("west", generation, { leaseSeconds: 60, degraded: [UNREACHABLE] }));
  await ask();
  const degradedOf = () => secondary.status().clusters[0]!.degraded;
  expect(degradedOf()).toEqual(gateway.status().clusters[0]!.degraded);
  expect(degradedOf()).toHaveLength(1);
  await done(gateway.renew("west", generation));
  // The first query after a while fetches the state for the next one.
  for (let query = 0; query < 2; query++) {
    await clock.advance(2000);
    await ask();
  }
  expect(degradedOf()).toBeUndefined();
});
