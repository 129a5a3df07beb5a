import { describe, expect, test } from "vitest";
import { type Visibility, visibilityKey } from "../../src/merge/visibility/visibility.ts";
import { openGateway, regional } from "./fake-stages.ts";
import { putSnapshot } from "./pushes.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

describe("a gateway with scopes", () => {
  test.each<[Visibility]>([[SHOP], [{ view: "west" }], [{ ...WEST, view: "west" }]])(
    "has no other ones: %j",
    async (scope) => {
      const { gateway } = await openGateway({ scopes: [WEST] });
      expect(() => gateway.within(scope)).toThrow(RangeError);
      expect(() => gateway.within(scope)).toThrow(visibilityKey(scope));
    },
  );

  test.each<[Visibility]>([[{ view: "east", clusters: ["west"] }], [{ addressRanges: ["10.0.0.1/8"] }]])(
    "is not opened with one that cannot be: %j",
    async (scope) => {
      await expect(openGateway({ scopes: [scope] })).rejects.toThrow(RangeError);
    },
  );
});

describe("what changes", () => {
  test("and cannot be compiled for one scope is compiled for the others; it recovers by itself", async () => {
    const { gateway, served, done, events, stages } = await openGateway({ scopes: [WEST, SHOP] });
    await done(putSnapshot(gateway, regional("east", "e")));
    await done(putSnapshot(gateway, regional("west", "a")));
    stages.fails = new Error("too much");
    stages.failing = (snapshots) => snapshots.length === 1;
    await done(putSnapshot(gateway, regional("west", "b")));
    expect(served()).toBe("east:e west:b");
    expect(served(gateway.within(SHOP))).toBe("east:e west:b");
    expect(served(gateway.within(WEST))).toBe("west:a");
    expect(events).toContainEqual({
      event: "compile-failed",
      scope: visibilityKey(WEST),
      error: stages.fails,
    });
    expect(gateway.within(WEST).status()).toMatchObject({ ready: true, compileError: "too much" });
    expect(gateway.status()).not.toHaveProperty("compileError");
    stages.fails = undefined;
    await done(putSnapshot(gateway, regional("east", "f")));
    expect(served(gateway.within(WEST))).toBe("west:b");
  });
});

describe("leases", () => {
  test("that a store kept are those of the scopes too", async () => {
    const { gateway, clock, done, open, served } = await openGateway({ scopes: [WEST] });
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(served((await open()).within(WEST))).toBe("west:w");
    clock.stall(10_000);
    const second = await open();
    expect(served(second.within(WEST))).toBe("SERVFAIL");
    expect(second.within(WEST).status().clusters).toMatchObject([{ clusterId: "west", live: false }]);
  });
});
