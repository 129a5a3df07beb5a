import { describe, expect, it } from "vitest";
import { openPair, WEB } from "./pair.ts";

describe("leases", () => {
  it("no TTL outlives one, on either side", async () => {
    const { clock, gateway, secondary, push, ask } = await openPair();
    await push("west", 2, 10);
    await push("east", 1, 100);
    await ask();
    for (let second = 0; second < 10; second++) {
      const { ttl } = await ask();
      const left =
        gateway.status().clusters.find(({ clusterId }) => clusterId === "west")!.expiresAt - clock.now();
      expect(ttl).toBe(Math.floor(left / 1000));
      await clock.advance(999);
    }
    expect(secondary.status().ready).toBe(true);
  });

  it("a cluster whose lease ran out is answered with TTL 0 until the next state, then not at all", async () => {
    const { clock, gateway, source, push, ask } = await openPair();
    await push("west", 2, 10);
    await push("east", 1, 100);
    await clock.advance(9900);
    expect(await ask()).toMatchObject({ ttl: 0, errors: [] });
    const { expiresAt } = gateway.status().clusters.find(({ clusterId }) => clusterId === "west")!;
    await clock.advance(expiresAt - clock.now() + 200);
    source.stateLatency = 500;
    expect(await ask()).toMatchObject({ ttl: 0, freshness: 0 });
    await clock.advance(1000);
    await ask();
    await clock.advance(1000);
    const { addresses } = await ask();
    expect(addresses).toEqual(["10.0.0.0"]);
  });

  it("while the primary is unreachable what is in memory answers with TTL 0 and says that it is stale", async () => {
    const { clock, source, push, ask } = await openPair();
    await push("west", 2, 10);
    await ask();
    source.failure = new Error("unreachable");
    await clock.advance(60_000);
    expect(await ask()).toMatchObject({ rcode: "NOERROR", ttl: 0, freshness: 0, errors: [3] });
  });
});

describe("a primary that is not ready", () => {
  it("makes SERVFAIL with Not Ready of every answer, until it is", async () => {
    const { clock, gateway, secondary, push, ask } = await openPair();
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14], freshness: 0 });
    expect(secondary.status()).toMatchObject({ ready: false });
    expect(secondary.status()).not.toHaveProperty("transferError");

    await push("west", 2, 10);
    await clock.advance(4001);
    expect(await ask()).toMatchObject({ rcode: "NOERROR" });

    await clock.advance(20_000);
    expect(gateway.status().ready).toBe(false);
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    expect(secondary.status()).toMatchObject({
      ready: false,
      clusters: [{ clusterId: "west", live: false }],
    });

    await push("west", 2, 60);
    await clock.advance(4001);
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [] });
  });

  it("denies names once its last cluster left", async () => {
    const { clock, gateway, push, ask, done } = await openPair();
    await push("west", 2);
    await ask();
    await done(gateway.leave("west"));
    await clock.advance(4001);
    expect(await ask()).toMatchObject({ rcode: "NXDOMAIN", errors: [] });
  });

  it("that says so and cannot be right is a failure", async () => {
    const { source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeState = (state) => ({ ...state, world: undefined });
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(secondary.status().transferError).toBe("the primary is ready, but names no world");
  });
});

describe("views", () => {
  it("are those of the primary's clusters; none is denied before anything is known", async () => {
    const { clock, gateway, secondary, push, ask, done } = await openPair();
    expect(secondary.hasCluster("west")).toBe(true);
    await push("west", 2);
    await ask();
    expect([secondary.hasCluster("west"), secondary.hasCluster("east")]).toEqual([true, false]);
    await done(gateway.leave("west"));
    await clock.advance(4001);
    await ask();
    expect(secondary.hasCluster("west")).toBe(false);
  });
});

describe("clocks that differ a little", () => {
  it.each([-900, 900])("by %d milliseconds: nothing is younger than its request", async (ahead) => {
    const { clock, source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeState = (state) => ({ ...state, at: state.at + ahead });
    const asked = clock.now();
    await ask(WEB);
    source.failure = new Error("unreachable");
    clock.stall(4001);
    expect(secondary.status().staleSince).toBe(asked + Math.min(0, ahead));
  });
});
