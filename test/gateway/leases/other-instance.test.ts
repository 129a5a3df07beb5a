import { afterEach, beforeEach, expect, test } from "vitest";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { FakeClock, settle } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";
import { realStages } from "../real-stages.ts";
import { Replicas } from "../replica/replicas.ts";

const REJECTED = { code: "OTHER_INSTANCE" };
const lease = (instance?: string) => ({ leaseSeconds: 60, instance });

async function openGateway(store = createMemoryStore(), clock = new FakeClock()) {
  const events: GatewayEvent[] = [];
  const opening = Gateway.open({
    ...{ store, clock, stages: realStages() },
    onEvent: (event) => void (event.event.startsWith("other-instance") && events.push(event)),
  });
  await settle();
  const gateway = await opening;
  const done = async <Result>(work: Promise<Result>) => {
    const outcome = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await settle();
    await clock.advance(5);
    const ended = await outcome;
    if ("error" in ended) throw ended.error;
    return ended.value;
  };
  const put = (instance?: string) => done(putSnapshot(gateway, shopSnapshot("west"), lease(instance)));
  return { store, clock, gateway, events, done, put };
}

let world: Awaited<ReturnType<typeof openGateway>>;
beforeEach(async () => {
  world = await openGateway();
});

test("only the instance that holds the lease pushes, patches, renews and leaves", async () => {
  const { gateway, done, put } = world;
  const { generation } = await put("one");
  for (const request of [
    () => put("two"),
    () => done(patchCluster(gateway, "west", generation, { namespaces: { new: {} } }, lease("two"))),
    () => done(gateway.renew("west", generation, lease("two"))),
    () => done(gateway.leave("west", { instance: "two" })),
    async () => gateway.refuseOther("west", "two"),
  ])
    await expect(request()).rejects.toMatchObject(REJECTED);
  expect(gateway.status().clusters).toMatchObject([{ generation, live: true }]);
  await done(gateway.renew("west", generation, lease("one")));
});

test("requests without an instance are taken, and take the lease from nobody", async () => {
  const { gateway, done, put } = world;
  await put();
  const { generation } = await put("one");
  await put();
  await done(gateway.renew("west", (await put()).generation, lease()));
  expect(gateway.status().clusters[0]!.generation).toBeGreaterThan(generation);
  await expect(put("two")).rejects.toMatchObject(REJECTED);
  await done(gateway.leave("west"));
  await put("two");
});

test("the next instance is taken when the lease expired, or its holder left", async () => {
  const { gateway, clock, done, put } = world;
  await put("one");
  await clock.advance(61_000);
  await put("two");
  await expect(put("one")).rejects.toMatchObject(REJECTED);
  await done(gateway.leave("west", { instance: "two" }));
  await put("one");
});

test("a restarted gateway knows who holds the lease", async () => {
  const { store, clock, put } = world;
  await put("one");
  const restarted = await openGateway(store, clock);
  await expect(restarted.put("two")).rejects.toMatchObject(REJECTED);
  await restarted.put("one");
});

test("status, findings and the log name a second instance, until it has not tried for some minutes", async () => {
  const { gateway, clock, done, put, events } = world;
  const { generation } = await put("one");
  const seen = () => {
    const { clusters, findings } = gateway.status();
    return [clusters[0]!.degraded?.map(({ reason }) => reason), findings.map(({ reason }) => reason)];
  };
  const renew = () => done(gateway.renew("west", generation, lease("one")));
  expect(seen()).toEqual([undefined, []]);
  for (let minute = 0; minute < 5; minute++) {
    await expect(put("two")).rejects.toMatchObject(REJECTED);
    expect(seen()).toEqual([["OTHER_INSTANCE"], ["OtherInstance"]]);
    expect(gateway.terms(clock.now()).clusters.get("west")!.status.degraded).toHaveLength(1);
    await clock.advance(50_000);
    await renew();
  }
  expect(gateway.status().findings[0]!.message).toMatch(/instance two.*instance one/);
  for (let minute = 0; minute < 4; minute++) {
    await clock.advance(50_000);
    await renew();
  }
  expect(seen()).toEqual([undefined, []]);
  expect(events).toEqual([
    { event: "other-instance", clusterId: "west", holder: "one", instance: "two" },
    { event: "other-instance-gone", clusterId: "west", instance: "two" },
  ]);
});

const replicas = { open: undefined as Replicas | undefined };
afterEach(() => replicas.open?.close());

test("gateways that share a log agree on who holds the lease", async () => {
  replicas.open = await Replicas.start(2);
  const [one, other] = replicas.open.members;
  await putSnapshot(one!.gateway, shopSnapshot("west"), lease("one"));
  await replicas.open.settled();
  const second = putSnapshot(other!.gateway, shopSnapshot("west"), lease("two"));
  await expect(second).rejects.toMatchObject(REJECTED);
  await expect(other!.gateway.leave("west", { instance: "two" })).rejects.toMatchObject(REJECTED);
  await putSnapshot(other!.gateway, shopSnapshot("west"), lease("one"));
});
