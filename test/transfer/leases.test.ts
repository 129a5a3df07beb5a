import { describe, expect, it } from "vitest";
import { openPair, WEB } from "./pair.ts";

describe("a primary that is not ready", () => {
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
