import { describe, expect, it, vi } from "vitest";
import { shopSnapshot } from "../snapshot/worlds.ts";
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

describe("a lease that ends while the primary cannot write", () => {
  it("leaves answers that say that they are stale and are not cached, and ends with the next change that is written", async () => {
    const { clock, held, push, ask } = await openPair();
    await push("west", 3, 10);
    await push("east", 1, 3600);
    expect(await ask()).toMatchObject({ addresses: ["10.0.0.0", "10.0.0.1", "10.0.0.2"], errors: [] });
    const failure = Object.assign(new Error("database or disk is full"), {
      code: "ERR_SQLITE_ERROR",
      errcode: 13,
    });
    const writing = vi.spyOn(held.database, "atomically").mockImplementation(() => {
      throw failure;
    });
    await clock.advance(30_000);
    expect(await ask()).toMatchObject({ ttl: 0, errors: [3] });
    writing.mockRestore();
    await held.put({ ...shopSnapshot("east", 1), exports: {} }, 3600);
    await push("east", 1, 3600);
    await clock.advance(10_000);
    expect(await ask()).toMatchObject({ addresses: ["10.0.0.0"], ttl: 30, errors: [] });
  });
});
