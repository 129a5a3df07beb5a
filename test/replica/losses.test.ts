import { afterEach, describe, expect, test } from "vitest";
import type { Sender } from "../../src/gateway/gateway-types.ts";
import { snapshotOf } from "../database/pushing.ts";
import { patchCluster, putSnapshot } from "../gateway/open-gateway.ts";
import { exporting } from "../merge/fixtures.ts";
import { generationOf, type Member, Replicas, readerOf, rowsOf } from "./replicas.ts";

let replicas: Replicas;
afterEach(() => replicas.close());

/** Gateways that share a log, of which the first one took a push of each cluster. */
async function start(count: number, ...clusters: readonly string[]) {
  replicas = await Replicas.start(count);
  const [one, other, third] = replicas.members as [Member, Member, Member];
  for (const id of clusters) await putSnapshot(one.gateway, exporting(id));
  await replicas.settled();
  return { one, other, third, log: replicas.log };
}

const agree = () => replicas.agree();
const heldOf = (member: Member, cluster: string) => snapshotOf(readerOf(member), cluster);
const eventsOf = ({ events }: Member) => events.map(({ event }) => event);

describe("an engine that loses what it had", () => {
  test("gets it again from a gateway, and no worker has to push in full", async () => {
    const { one, other, log } = await start(2, "east", "west");
    const { generation } = await patchCluster(other.gateway, "east", generationOf(one), {
      namespaces: { new: {} },
    });
    await replicas.settled();
    const before = rowsOf(one) as { entries: unknown; claims: unknown };
    log.loseEverything();
    await replicas.settled();
    expect(rowsOf(other)).toMatchObject({ entries: before.entries, claims: before.claims });
    await patchCluster(one.gateway, "east", generation, { namespaces: { newer: {} } });
    await replicas.add();
    await replicas.settled();
    expect(agree()).toEqual(["east", "west"]);
    expect(heldOf(other, "east").namespaces).toMatchObject({ new: {}, newer: {} });
    for (const { events } of [one, other])
      expect(events).toContainEqual({ event: "log-reloaded", lost: true });
  });

  test("gets its newest entries again, also where only a gateway that took part in none of them has them", async () => {
    const { one, log } = await start(2, "east");
    const newer = await patchCluster(one.gateway, "east", generationOf(one), { namespaces: { new: {} } });
    await replicas.settled();
    await replicas.restart(0, false);
    log.loseLast(1);
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    const { gateway } = replicas.members[0]!;
    expect(await gateway.renew("east", newer.generation)).toMatchObject({ generation: newer.generation });
  });

  test("keeps what a worker pushed since: it replaces what a gateway has that was away", async () => {
    const { one, other, log } = await start(2, "east");
    other.log.hold();
    await patchCluster(one.gateway, "east", generationOf(one), { namespaces: { lost: {} } });
    await replicas.settled();
    one.log.disconnect();
    log.loseLast(1);
    other.log.release();
    await replicas.settled();
    await replicas.pass(1000);
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} } });
    one.log.reconnect();
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
    expect(heldOf(one, "east").namespaces).toEqual({ newer: {} });
  });

  test("takes no delta on a lost state for one on another state with the same generation", async () => {
    const { one, other, log } = await start(2, "east");
    other.log.hold();
    const { generation } = await putSnapshot(one.gateway, { ...exporting("east"), namespaces: { lost: {} } });
    one.log.disconnect();
    log.loseLast(1);
    other.log.release();
    await replicas.settled();
    const newer = await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} } });
    expect(newer.generation).toBe(generation);
    one.log.reconnect();
    await replicas.settled();
    for (const { gateway } of [one, other]) {
      const delta = patchCluster(gateway, "east", generation, { namespaces: { lost: null } });
      await expect(delta).rejects.toMatchObject({ code: "GENERATION_MISMATCH" });
    }
    expect(agree()).toEqual(["east"]);
  });

  test("is not filled with another log's clusters, or with those of a gateway whose log was given another name", async () => {
    await start(1, "east");
    const stranger = await Replicas.start(1);
    await putSnapshot(stranger.members[0]!.gateway, exporting("west"));
    await stranger.settled();
    await stranger.close();
    await replicas.add({ database: stranger.members[0]!.database });
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });

  test("has the state of a gateway that had none before, where it is empty", async () => {
    const { one } = await start(1, "east");
    const { database } = one;
    await replicas.close();
    replicas = new Replicas();
    await replicas.add({ database });
    await replicas.add();
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });
});

describe("clusters that left, where the engine loses that", () => {
  test("leave gateways that were away, too", async () => {
    const { one, third, log } = await start(3, "east", "west");
    third.log.disconnect();
    await one.gateway.leave("east");
    await replicas.settled();
    log.loseEverything();
    third.log.reconnect();
    await replicas.settled();
    expect(agree()).toEqual(["west"]);
  });

  test("stay where they came back before that", async () => {
    const { one, other, log } = await start(3, "east");
    await one.gateway.leave("east");
    await replicas.settled();
    await putSnapshot(other.gateway, exporting("east"));
    await replicas.settled();
    log.loseLast(1);
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });

  test("stay where they push again before a gateway hears of the loss", async () => {
    const { one, other, log } = await start(2, "east");
    await one.gateway.leave("east");
    await replicas.settled();
    for (const { log } of [one, other]) log.disconnect();
    log.loseEverything();
    one.log.reconnect();
    await replicas.settled();
    await putSnapshot(one.gateway, exporting("east"));
    other.log.reconnect();
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });
});

describe("pushes that the engine loses before they are applied", () => {
  /** Loses the newest entry, which the first gateway waits for, and returns what its client gets. */
  const losing = async (push: (one: Member) => Promise<{ readonly generation: number }>) => {
    const one = replicas.members[0]!;
    one.log.hold();
    const outcome = push(one).then(
      ({ generation }) => generation,
      ({ code }) => code,
    );
    await replicas.settled();
    replicas.log.loseLast(1);
    one.log.release();
    await replicas.settled();
    return outcome;
  };

  test("are taken again", async () => {
    const { one } = await start(1);
    expect(await losing(({ gateway }) => putSnapshot(gateway, exporting("east")))).toBe(generationOf(one));
    const patch = { namespaces: { new: {} } };
    const before = generationOf(one);
    const outcome = await losing(({ gateway }) => patchCluster(gateway, "east", before, patch));
    expect(outcome).toBe(generationOf(one));
    expect(outcome).toBeGreaterThan(before);
    expect(heldOf(one, "east").namespaces).toHaveProperty("new");
  });

  test("are taken again, and are one change where another gateway had them", async () => {
    const { one, other } = await start(2, "east");
    const generation = generationOf(one);
    const patch = { namespaces: { new: {} } };
    const outcome = await losing(({ gateway }) => patchCluster(gateway, "east", generation, patch));
    expect(outcome).toBe(generationOf(one));
    expect(agree()).toEqual(["east"]);
    expect(heldOf(other, "east").namespaces).toHaveProperty("new");
  });

  test("are acknowledged only when they are applied, also after the engine lost everything twice", async () => {
    const { one, log } = await start(1, "east", "north", "west");
    log.loseEverything();
    await replicas.settled();
    one.log.hold();
    log.loseEverything();
    let isThere: boolean | undefined;
    const pushing = putSnapshot(one.gateway, exporting("south")).then(() => {
      isThere = readerOf(one).cluster("south") !== undefined;
    });
    await replicas.settled();
    one.log.release();
    await replicas.rejoin([pushing]);
    expect(isThere).toBe(true);
    expect(agree()).toEqual(["east", "north", "south", "west"]);
  });

  test("are acknowledged with their generation where a load brings them", async () => {
    const { one, other, log } = await start(2, "west");
    one.log.hold();
    const pushing = putSnapshot(one.gateway, exporting("east"));
    await replicas.settled();
    await putSnapshot(other.gateway, exporting("north"));
    log.trim();
    one.log.release();
    await replicas.settled();
    const { generation } = await pushing;
    expect(readerOf(other).cluster("east")?.meta?.generation).toBe(generation);
    expect(agree()).toEqual(["east", "north", "west"]);
    expect(eventsOf(one)).toContain("log-reloaded");
  });
});

test("a delta that is decided again, since another gateway renewed the lease, has all of its changes", async () => {
  const { one, other } = await start(2, "east");
  const generation = generationOf(one);
  one.log.hold();
  await other.gateway.renew("east", generation);
  const patching = patchCluster(one.gateway, "east", generation, { namespaces: { new: {} } });
  await replicas.settled();
  one.log.release();
  await replicas.pass(1000);
  await patching;
  expect(agree()).toEqual(["east"]);
  expect(heldOf(other, "east").namespaces).toHaveProperty("new");
});

/** A gateway that does not know yet that a cluster changed takes a request whose client goes meanwhile. */
async function late(request: (one: Member, sender: Sender) => Promise<unknown>) {
  const [one] = replicas.members as [Member, Member];
  const client = new AbortController();
  const outcome = request(one, { signal: client.signal }).then(
    () => "taken",
    ({ code }) => code,
  );
  await replicas.settled();
  client.abort();
  one.log.release();
  await replicas.settled();
  await replicas.pass(1000);
  return outcome;
}

describe("late requests, at a gateway that gets no entries", () => {
  const startHeld = async () => {
    const { one, other } = await start(2, "east");
    one.log.hold();
    return { one, other, after: generationOf(one) };
  };

  test("a full push replaces no newer one than it knows", async () => {
    const { other, after } = await startHeld();
    await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { new: {} }, exports: {} });
    const outcome = late(({ gateway }) => putSnapshot(gateway, exporting("east"), {}, { after }));
    expect(await outcome).toBe("GENERATION_MISMATCH");
    expect(agree()).toEqual(["east"]);
    expect(heldOf(other, "east").namespaces).toEqual({ new: {} });
  });

  test("a full push does not bring back a cluster that has left since", async () => {
    const { one, other, after } = await startHeld();
    await other.gateway.leave("east");
    const outcome = late(({ gateway }) => putSnapshot(gateway, exporting("east"), {}, { after }));
    expect(await outcome).toBe("GENERATION_MISMATCH");
    expect(agree()).toEqual([]);
    const { current } = await putSnapshot(one.gateway, exporting("east"), {}, { after }).catch(
      (error) => error,
    );
    await putSnapshot(one.gateway, exporting("east"), {}, { after: current });
    await replicas.settled();
    expect(agree()).toEqual(["east"]);
  });

  test("a leave takes out no newer push than it knows", async () => {
    const { other, after } = await startHeld();
    await putSnapshot(other.gateway, exporting("east"));
    expect(await late(({ gateway }) => gateway.leave("east", { after }))).toBe("GENERATION_MISMATCH");
    expect(agree()).toEqual(["east"]);
  });

  test("neither is taken whose client has gone", async () => {
    const { other } = await startHeld();
    await other.gateway.leave("east");
    const pushing = late(({ gateway }, sender) => putSnapshot(gateway, exporting("east"), {}, sender));
    expect(await pushing).toBe("CLIENT_GONE");
    expect(agree()).toEqual([]);
    replicas.members[0]!.log.hold();
    await putSnapshot(other.gateway, exporting("east"));
    expect(await late(({ gateway }, sender) => gateway.leave("east", sender))).toBe("CLIENT_GONE");
    expect(agree()).toEqual(["east"]);
  });
});
