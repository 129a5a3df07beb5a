import { afterEach, describe, expect, test } from "vitest";
import type { Sender } from "../../../src/gateway/gateway-types.ts";
import { exporting } from "../../merge/fixtures.ts";
import { heldOf, patchCluster, putSnapshot } from "../pushes.ts";
import { type Member, Replicas, sharedStatus } from "./replicas.ts";

let replicas: Replicas;
afterEach(() => replicas.close());

async function start(count: number): Promise<Replicas> {
  replicas = await Replicas.start(count);
  return replicas;
}

/** The clusters that each gateway answers from. */
function liveOfAll(): (string | undefined)[][] {
  return replicas.members.map(({ gateway }) => sharedStatus(gateway).live.map(({ clusterId }) => clusterId));
}

function heldGeneration({ gateway }: Member): number {
  return sharedStatus(gateway).live[0]!.generation;
}

describe("clusters that left, where the engine loses data", () => {
  test("a gateway that was away while a cluster left takes it out, though the engine lost that it left", async () => {
    const { members, log } = await start(3);
    for (const id of ["east", "west"]) await putSnapshot(members[0]!.gateway, exporting(id));
    await replicas.settled();
    members[2]!.log.disconnect();
    await members[0]!.gateway.leave("east");
    await replicas.settled();
    log.loseEverything();
    members[2]!.log.reconnect();
    await replicas.settled();
    expect(liveOfAll()).toEqual([["west"], ["west"], ["west"]]);
  });

  test("a gateway that was away while a cluster left an engine without data takes it out", async () => {
    const { members, log } = await start(3);
    for (const id of ["east", "west"]) await putSnapshot(members[0]!.gateway, exporting(id));
    await replicas.settled();
    members[2]!.log.disconnect();
    log.loseEverything();
    await replicas.settled();
    await members[0]!.gateway.leave("east");
    members[2]!.log.reconnect();
    await replicas.settled();
    expect(liveOfAll()).toEqual([["west"], ["west"], ["west"]]);
  });

  test("a cluster that came back before the engine lost it stays, though the log has that it left before", async () => {
    const { members, log } = await start(3);
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await members[0]!.gateway.leave("east");
    await putSnapshot(members[1]!.gateway, exporting("east"));
    await replicas.settled();
    log.loseLast(1);
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"], ["east"]]);
  });

  test("a gateway that was away while a cluster came back does not take it out again", async () => {
    const { members, log } = await start(3);
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await members[0]!.gateway.leave("east");
    await replicas.settled();
    members[2]!.log.disconnect();
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await replicas.settled();
    log.loseEverything();
    members[2]!.log.reconnect();
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"], []]);
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"], ["east"]]);
  });

  test("a cluster that pushes again is not taken out by what a gateway remembers of its leaving", async () => {
    const { members, log } = await start(2);
    await putSnapshot(members[0]!.gateway, exporting("east"));
    await members[0]!.gateway.leave("east");
    await replicas.settled();
    for (const { log } of members) log.disconnect();
    log.loseEverything();
    members[0]!.log.reconnect();
    await replicas.settled();
    await putSnapshot(members[0]!.gateway, exporting("east"));
    members[1]!.log.reconnect();
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"]]);
  });

  test("a leave counts when the gateway that took it has taken the cluster out, also where it did not know yet that the engine lost its data", async () => {
    const { members, log } = await start(2);
    const [one, other] = members;
    await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    log.loseEverything();
    await replicas.settled();
    for (const id of ["north", "south", "west"]) await putSnapshot(other!.gateway, exporting(id));
    await replicas.settled();
    one!.log.hold();
    log.loseEverything();
    let isLeft = false;
    const leaving = one!.gateway.leave("east").then(() => {
      isLeft = true;
    });
    await replicas.settled();
    expect(isLeft).toBe(false);
    one!.log.release();
    await leaving;
    await replicas.settled();
    expect(liveOfAll()[0]).toEqual(["north", "south", "west"]);
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

  test("a delta is not acknowledged with the generation before it", async () => {
    const { members } = await start(2);
    const [one, other] = members;
    const { generation } = await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    const patch = { namespaces: { new: {} } };
    const outcome = await losing(({ gateway }) => patchCluster(gateway, "east", generation, patch));
    expect(outcome).toBe("STORE_FAILED");
    expect(one!.gateway.status()).not.toHaveProperty("storeTrouble");
    // The other gateway has applied it.
    await expect(patchCluster(other!.gateway, "east", heldGeneration(other!), patch)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    await putSnapshot(other!.gateway, exporting("east"));
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"]]);
  });

  test("a full push is not acknowledged", async () => {
    await start(2);
    expect(await losing(({ gateway }) => putSnapshot(gateway, exporting("east")))).toBe("STORE_FAILED");
  });

  test("a delta that is decided again, since another gateway renewed the lease, has all of its changes on all gateways", async () => {
    const { members } = await start(2);
    const [one, other] = members;
    const { generation } = await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    one!.log.hold();
    await other!.gateway.renew("east", generation);
    const patching = patchCluster(one!.gateway, "east", generation, { namespaces: { new: {} } });
    await replicas.settled();
    one!.log.release();
    await replicas.pass(1000);
    await patching;
    for (const { gateway } of members) expect(heldOf(gateway, "east").namespaces).toHaveProperty("new");
  });

  test("one that a reload brings is acknowledged with its generation", async () => {
    const { members, log } = await start(2);
    const [one, other] = members;
    await putSnapshot(other!.gateway, exporting("west"));
    await replicas.settled();
    one!.log.hold();
    const pushing = putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    log.trim();
    one!.log.release();
    const { generation } = await pushing;
    await replicas.settled();
    const east = sharedStatus(other!.gateway).live.find(({ clusterId }) => clusterId === "east");
    expect(generation).toBe(east!.generation);
  });
});

test("a delta on a state that was lost is not taken for one on another state with the same generation", async () => {
  const { members, log } = await start(2);
  const [one, other] = members as [Member, Member];
  await putSnapshot(one.gateway, exporting("east"));
  await replicas.settled();
  other.log.hold();
  const { generation } = await putSnapshot(one.gateway, { ...exporting("east"), namespaces: { lost: {} } });
  log.loseLast(1);
  other.log.release();
  const newer = await putSnapshot(other.gateway, { ...exporting("east"), namespaces: { newer: {} } });
  await replicas.settled();
  expect(newer.generation).toBe(generation);
  const delta = patchCluster(one.gateway, "east", generation, { namespaces: { lost: null } });
  await expect(delta).rejects.toMatchObject({ code: "GENERATION_MISMATCH" });
  expect(heldOf(one.gateway, "east").namespaces).toEqual({ newer: {} });
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
  await replicas.pass(1000);
  return outcome;
}

describe("requests of a client of which nothing says that it has gone", () => {
  /** Two gateways that have a cluster; the first one gets no entries from now on. */
  const startHeld = async () => {
    const { members } = await start(2);
    const [one, other] = members as [Member, Member];
    const { generation: after } = await putSnapshot(one.gateway, exporting("east"));
    await replicas.settled();
    one.log.hold();
    return { other, after };
  };

  test("a full push with the generation that it knows replaces no newer one", async () => {
    const { other, after } = await startHeld();
    const newer = { ...exporting("east"), namespaces: { new: {} }, exports: {} };
    await putSnapshot(other.gateway, newer);
    expect(await late(({ gateway }) => putSnapshot(gateway, exporting("east"), {}, { after }))).toBe(
      "GENERATION_MISMATCH",
    );
    for (const { gateway } of replicas.members)
      expect(heldOf(gateway, "east").namespaces).toEqual({ new: {} });
  });

  test("nor does it bring back a cluster that has left since", async () => {
    const { other, after } = await startHeld();
    await other.gateway.leave("east");
    expect(await late(({ gateway }) => putSnapshot(gateway, exporting("east"), {}, { after }))).toBe(
      "GENERATION_MISMATCH",
    );
    expect(liveOfAll()).toEqual([[], []]);
    const [{ gateway }] = replicas.members as [Member];
    const { current } = await putSnapshot(gateway, exporting("east"), {}, { after }).catch((error) => error);
    await putSnapshot(gateway, exporting("east"), {}, { after: current });
    await replicas.settled();
    expect(liveOfAll()).toEqual([["east"], ["east"]]);
  });

  test("a leave with the generation that it knows takes out no newer one", async () => {
    const { other, after } = await startHeld();
    await putSnapshot(other.gateway, exporting("east"));
    expect(await late(({ gateway }) => gateway.leave("east", { after }))).toBe("GENERATION_MISMATCH");
    expect(liveOfAll()).toEqual([["east"], ["east"]]);
  });

  test("they are taken where the generation that they know is the newest one, or none is held", async () => {
    const { members } = await start(2);
    const [{ gateway }] = members as [Member];
    const { generation } = await putSnapshot(gateway, exporting("east"), {}, { after: 0 });
    const { generation: after } = await putSnapshot(gateway, exporting("east"), {}, { after: generation });
    expect(after).toBeGreaterThan(generation);
    // Both leaves: a client that got no answer sends it again.
    for (const member of members) {
      await member.gateway.leave("east", { after });
      await replicas.settled();
      expect(liveOfAll()).toEqual([[], []]);
    }
  });
});

describe("requests whose client has gone", () => {
  test("a full push does not bring back a cluster that has left through another gateway since", async () => {
    const { members } = await start(2);
    const [one, other] = members;
    await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    one!.log.hold();
    await other!.gateway.leave("east");
    const outcome = late(({ gateway }, sender) => putSnapshot(gateway, exporting("east"), {}, sender));
    expect(await outcome).toBe("CLIENT_GONE");
    expect(liveOfAll()).toEqual([[], []]);
  });

  test("a leave does not take out a cluster that has pushed to another gateway since", async () => {
    const { members } = await start(2);
    const [one, other] = members;
    await putSnapshot(one!.gateway, exporting("east"));
    await replicas.settled();
    one!.log.hold();
    await putSnapshot(other!.gateway, exporting("east"));
    expect(await late(({ gateway }, sender) => gateway.leave("east", sender))).toBe("CLIENT_GONE");
    expect(liveOfAll()).toEqual([["east"], ["east"]]);
  });

  test("neither a full push nor a leave is taken", async () => {
    const { members } = await start(1);
    const gone = AbortSignal.abort();
    const refused = { code: "CLIENT_GONE" };
    const [{ gateway }] = members as [Member];
    await expect(putSnapshot(gateway, exporting("east"), {}, { signal: gone })).rejects.toMatchObject(
      refused,
    );
    await putSnapshot(gateway, exporting("east"));
    await expect(gateway.leave("east", { signal: gone })).rejects.toMatchObject(refused);
    expect(liveOfAll()).toEqual([["east"]]);
  });
});
