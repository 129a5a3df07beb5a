import { describe, expect, test } from "vitest";
import { type Visibility, visibilityKey } from "../../src/merge/visibility.ts";
import { exported } from "../merge/fixtures.ts";
import { openGateway, putSnapshot, regional } from "./open-gateway.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

describe("a gateway with scopes", () => {
  test.each<[Visibility]>([[SHOP], [{ view: "west" }], [{ ...WEST, view: "west" }]])(
    "has no other ones: %j",
    (scope) => {
      const { gateway } = openGateway({ scopes: [WEST] });
      expect(() => gateway.within(scope)).toThrow(RangeError);
      expect(() => gateway.within(scope)).toThrow(visibilityKey(scope));
    },
  );

  test.each<[Visibility]>([[{ view: "east", clusters: ["west"] }], [{ addressRanges: ["10.0.0.1/8"] }]])(
    "is not opened with one that cannot be: %j",
    (scope) => {
      expect(() => openGateway({ scopes: [scope] })).toThrow(RangeError);
    },
  );
});

describe("leases", () => {
  test("that the database has are those of the scopes too", async () => {
    const { gateway, clock, open, served } = openGateway({ scopes: [WEST] });
    await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
    expect(served(open().within(WEST))).toBe("west:w");
    clock.stall(10_000);
    const second = open();
    expect(served(second.within(WEST))).toBe("SERVFAIL");
    expect(second.within(WEST).status().clusters).toMatchObject([{ clusterId: "west", live: false }]);
  });
});

describe("the status of a scope", () => {
  const service = exported({ exportedAt: "2026-01-01T00:00:00Z" });
  const west = {
    ...regional("west", "w"),
    namespaces: { shop: {}, secret: {} },
    exports: { "shop/web": service, "secret/db": service },
  };

  test.each([
    [-1, true],
    [0, false],
    [1, false],
  ])(
    "of a gateway that starts %i ms after a lease expired has what the cluster has in it; live: %s",
    async (after, live) => {
      const { gateway, clock, open, events } = openGateway({ scopes: [SHOP] });
      await putSnapshot(gateway, west, { leaseSeconds: 10 });
      await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 20 });
      clock.stall(10_000 + after);
      events.length = 0;
      const other = open();
      await other.within(SHOP).survey();
      expect(other.everything.status().clusters[1]).toMatchObject({ clusterId: "west", live, exports: 2 });
      expect(other.within(SHOP).status().clusters[1]).toMatchObject({ clusterId: "west", live, exports: 1 });
      expect(events.some(({ event }) => event === "lease-expired")).toBe(!live);
    },
  );

  test("has a hash of all rows for clients that see everything, and none for others", async () => {
    const { gateway } = openGateway({ scopes: [SHOP] });
    const other = openGateway();
    await putSnapshot(gateway, west);
    await putSnapshot(gateway, regional("east", "e"));
    await putSnapshot(other.gateway, regional("east", "e"));
    const { stateHash } = gateway.everything.status();
    expect(other.gateway.everything.status().stateHash).not.toBe(stateHash);
    await putSnapshot(other.gateway, west);
    expect(other.gateway.everything.status().stateHash).toBe(stateHash);
    expect(gateway.within(SHOP).status().stateHash).toBeUndefined();
  });
});
