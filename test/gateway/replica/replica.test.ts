import { afterEach, describe, expect, test } from "vitest";
import { exporting } from "../../merge/fixtures.ts";
import { heldOf, patchCluster, putSnapshot } from "../pushes.ts";
import { type Member, Replicas, RunningClock, sharedStatus } from "./replicas.ts";

/** A clock that goes on with each look at it. */
class BusyClock extends RunningClock {
  step = 0;

  override now(): number {
    this.stall(this.step);
    return super.now();
  }
}

let replicas: Replicas;
afterEach(() => replicas.close());

async function start(count: number): Promise<Replicas> {
  replicas = await Replicas.start(count);
  return replicas;
}

/** Every gateway that is at the log's end has what the others have. */
function agree(): ReturnType<typeof sharedStatus> {
  const [first, ...others] = replicas.members.map(({ gateway }) => sharedStatus(gateway));
  for (const other of others) expect(other).toEqual(first);
  expect(first!.position).toBe(replicas.log.position);
  return first!;
}

describe("gateways that share a log", () => {
  test("a renewed generation is answered by the gateway that renewed it, also where another one took its push", async () => {
    replicas = new Replicas();
    const one = await replicas.add();
    const clock = new BusyClock(replicas.clock.now());
    const other = await replicas.add(undefined, clock);
    // Compiling this takes the other gateway some time, and it pauses for as long.
    clock.step = 50;
    await putSnapshot(one.gateway, exporting("west"));
    await replicas.settled();
    clock.step = 0;
    const { generation } = await putSnapshot(one.gateway, exporting("east"));
    await replicas.log.settled();
    let isRenewed = false;
    const renewing = other.gateway.renew("east", generation).then(() => {
      isRenewed = true;
    });
    await replicas.settled();
    const isEqual = () => other.gateway.status().rootHash === one.gateway.status().rootHash;
    expect([isRenewed, isEqual()]).toEqual([false, false]);
    await clock.advance(1000);
    await renewing;
    expect(isEqual()).toBe(true);
  });

  test("a delta for a state that another gateway has replaced is refused", async () => {
    const { members } = await start(2);
    const [one, other] = members;
    const { generation } = await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    await patchCluster(one!.gateway, "east", generation, { namespaces: { new: {} } });
    await replicas.settled();
    await expect(other!.gateway.renew("east", generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
  });

  test("a push that the log has not replied to holds up no other change, of its cluster or of others", async () => {
    const { members } = await start(2);
    const [one, other] = members as [Member, Member];
    const reply = one.log.delayReplies();
    const pushing = putSnapshot(one.gateway, exporting("east"));
    await replicas.settled();
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} }, exports: {} });
    await putSnapshot(other.gateway, exporting("west"));
    await replicas.settled();
    expect(heldOf(one.gateway, "east").namespaces).toEqual({ newer: {} });
    expect(agree().live).toMatchObject([{ clusterId: "east" }, { clusterId: "west" }]);
    reply();
    await pushing;
    agree();
  });

  test("a cluster that leaves through a gateway that does not know it has left those that hold it", async () => {
    const { members, log } = await start(2);
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await putSnapshot(members[0]!.gateway, exporting("west"));
    await replicas.settled();
    log.loseEverything();
    await replicas.restart(1);
    await replicas.settled();
    expect(sharedStatus(members[0]!.gateway).live).toHaveLength(2);
    expect(await members[1]!.gateway.leave("east")).toBe(false);
    await putSnapshot(members[1]!.gateway, exporting("west"));
    await replicas.settled();
    expect(agree().live).toMatchObject([{ clusterId: "west" }]);
  });

  test("while the log is gone, pushes are refused, and leases hold for the time that is configured", async () => {
    replicas = new Replicas();
    const one = await replicas.add(60_000);
    const { generation } = await putSnapshot(one.gateway, exporting("east"), { leaseSeconds: 10 });
    one.log.disconnect();
    await replicas.settled();
    await expect(putSnapshot(one.gateway, exporting("west"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(one.gateway.renew("east", generation)).rejects.toMatchObject({ code: "STORE_FAILED" });
    await replicas.pass(65_000);
    expect(one.gateway.status()).toMatchObject({ clusters: [{ live: true }], storeTrouble: {}, ready: true });
    expect(one.gateway.status().behindSince).toBeDefined();
    await replicas.pass(10_000);
    expect(one.gateway.status().clusters).toMatchObject([{ live: false }]);
    one.log.reconnect();
    await replicas.pass(3000);
    expect(one.gateway.status()).not.toHaveProperty("storeTrouble");
    await putSnapshot(one.gateway, exporting("west"));
    expect(sharedStatus(one.gateway).live).toMatchObject([{ clusterId: "west" }]);
  });

  test("a push that a gateway without its log refused makes its answers stale until it follows what another one took instead", async () => {
    const { members, clock } = await start(2);
    const [one, other] = members as [Member, Member];
    await putSnapshot(one.gateway, exporting("east"));
    await replicas.settled();
    one.log.disconnect();
    await replicas.settled();
    const settle = one.gateway.arrived("east");
    await expect(putSnapshot(one.gateway, exporting("east"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    settle(false);
    await replicas.pass(10_000);
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} }, exports: {} });
    expect(one.gateway.status().behindSince).toBeLessThan(clock.now());
    one.log.reconnect();
    await replicas.settled();
    expect(one.gateway.status()).not.toHaveProperty("behindSince");
  });

  test("an outage that is shorter than that ends no lease that is renewed afterwards", async () => {
    const { members } = await start(2);
    const { generation } = await putSnapshot(members[0]!.gateway, exporting("east"), { leaseSeconds: 10 });
    await replicas.settled();
    for (const { log } of members) log.disconnect();
    await replicas.pass(8000);
    for (const { log } of members) log.reconnect();
    await replicas.settled();
    await members[1]!.gateway.renew("east", generation, { leaseSeconds: 10 });
    await replicas.pass(8000);
    expect(agree().live).toHaveLength(1);
  });

  test("what the engine lost goes on being answered, and comes back with full pushes", async () => {
    const { members, log } = await start(2);
    const [one, other] = members;
    const { generation } = await putSnapshot(one!.gateway, exporting("east"), { leaseSeconds: 10 });
    await replicas.settled();
    log.loseEverything();
    await replicas.settled();
    for (const { gateway } of members) expect(sharedStatus(gateway).live).toHaveLength(1);
    await expect(other!.gateway.renew("east", generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    await putSnapshot(other!.gateway, exporting("east"), { leaseSeconds: 60 });
    await replicas.settled();
    expect(agree().live).toHaveLength(1);
    await replicas.pass(20_000);
    expect(agree().live).toHaveLength(1);
  });

  test("a cluster that the engine lost and that does not come back leaves when its lease ends", async () => {
    const { members, log } = await start(2);
    await putSnapshot(members[0]!.gateway, exporting("east"), { leaseSeconds: 10 });
    await replicas.settled();
    log.loseEverything();
    await replicas.pass(15_000);
    for (const { gateway } of members) expect(sharedStatus(gateway).live).toEqual([]);
  });

  test("newest entries that the engine lost are not taken back, and deltas on them are refused", async () => {
    const { members, log } = await start(2);
    const [one] = members;
    const { generation } = await putSnapshot(one!.gateway, exporting("east"));
    const newer = await patchCluster(one!.gateway, "east", generation, { namespaces: { new: {} } });
    await replicas.settled();
    log.loseLast(1);
    await replicas.settled();
    for (const { gateway } of members) expect(heldOf(gateway, "east").namespaces).toHaveProperty("new");
    await expect(one!.gateway.renew("east", newer.generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    agree();
  });
});
