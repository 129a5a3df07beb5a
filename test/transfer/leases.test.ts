import { describe, expect, it } from "vitest";
import { openPair, WEB } from "./pair.ts";

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
    expect(gateway.everything.status().ready).toBe(false);
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    expect(secondary.status()).toMatchObject({
      ready: false,
      clusters: [{ clusterId: "west", live: false }],
    });

    await push("west", 2, 60);
    await clock.advance(4001);
    expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [] });
  });
  it("that says so and cannot be right is a failure", async () => {
    const { source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeState = (state) => ({ ...state, world: undefined });
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(secondary.status().transferError).toBe("the primary is ready, but names no world");
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
