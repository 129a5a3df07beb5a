import { beforeEach, expect, test } from "vitest";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { openGateway, putSnapshot } from "../open-gateway.ts";

const REJECTED = { code: "OTHER_INSTANCE" };
const lease = (instance?: string) => ({ leaseSeconds: 60, instance });

function open(...parts: Parameters<typeof openGateway>) {
  const opened = openGateway(...parts);
  return {
    ...opened,
    put: (instance?: string) => putSnapshot(opened.gateway, shopSnapshot("west"), lease(instance)),
    contentions: () => opened.events.filter(({ event }) => event.startsWith("other-instance")),
  };
}

let world: ReturnType<typeof open>;
beforeEach(() => {
  world = open();
});

test("requests without an instance are taken, and take the lease from nobody", async () => {
  const { gateway, put } = world;
  await put();
  const { generation } = await put("one");
  await put();
  await gateway.renew("west", (await put()).generation, lease());
  expect(gateway.everything.status().clusters[0]!.generation).toBeGreaterThan(generation);
  await expect(put("two")).rejects.toMatchObject(REJECTED);
  await gateway.leave("west");
  await put("two");
});

test("the next instance is taken when the lease expired, or its holder left", async () => {
  const { gateway, clock, put } = world;
  await put("one");
  await clock.advance(61_000);
  await put("two");
  await expect(put("one")).rejects.toMatchObject(REJECTED);
  await gateway.leave("west", { instance: "two" });
  await put("one");
});

test("a restarted gateway knows who holds the lease", async () => {
  const { database, clock, put } = world;
  await put("one");
  const restarted = open({ database, clock });
  await expect(restarted.put("two")).rejects.toMatchObject(REJECTED);
  await restarted.put("one");
});

test("status, findings and the log name a second instance, until it has not tried for some minutes", async () => {
  const { gateway, clock, put, contentions } = world;
  const { generation } = await put("one");
  const findings = async () => (await gateway.everything.survey())!.findings;
  const seen = async () => [
    gateway.everything.status().clusters[0]!.degraded?.map(({ reason }) => reason),
    (await findings()).map(({ reason }) => reason),
  ];
  const renew = () => gateway.renew("west", generation, lease("one"));
  expect(await seen()).toEqual([undefined, []]);
  for (let minute = 0; minute < 5; minute++) {
    await expect(put("two")).rejects.toMatchObject(REJECTED);
    expect(await seen()).toEqual([["OTHER_INSTANCE"], ["OtherInstance"]]);
    expect((await findings())[0]!.message).toMatch(/instance two.*instance one/);
    await clock.advance(50_000);
    await renew();
  }
  for (let minute = 0; minute < 4; minute++) {
    await clock.advance(50_000);
    await renew();
  }
  expect(await seen()).toEqual([undefined, []]);
  expect(contentions()).toEqual([
    { event: "other-instance", clusterId: "west", holder: "one", instance: "two" },
    { event: "other-instance-gone", clusterId: "west", instance: "two" },
  ]);
});
