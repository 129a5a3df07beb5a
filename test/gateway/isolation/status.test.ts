import { describe, expect, it, vi } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { Turns } from "../../../src/gateway/clock.ts";
import { HeldCounts } from "../../../src/gateway/held-counts.ts";
import type { DatabaseEntries } from "../../../src/names/database-entries.ts";
import { exported, exporting } from "../../merge/fixtures.ts";
import { FakeClock } from "../fake-clock.ts";
import { openGateway, putSnapshot, regional } from "../open-gateway.ts";

const SHOP = { namespaces: ["shop"] };
const west = {
  ...regional("west", "w"),
  namespaces: { shop: {}, secret: {} },
  exports: { "shop/web": exported(), "secret/db": exported() },
};

describe("the status of a scope", () => {
  it.each([
    [-1, true],
    [0, false],
  ])(
    "of a gateway that starts %i ms after a lease expired has what the cluster has in it; live: %s",
    async (after, live) => {
      const { gateway, clock, open, events } = openGateway({ scopes: [SHOP] });
      await putSnapshot(gateway, west, { leaseSeconds: 10 });
      clock.stall(10_000 + after);
      events.length = 0;
      const other = open();
      await other.within(SHOP).survey();
      expect(other.everything.status().clusters).toMatchObject([{ clusterId: "west", live, exports: 2 }]);
      expect(other.within(SHOP).status().clusters).toMatchObject([{ clusterId: "west", live, exports: 1 }]);
      expect(events.some(({ event }) => event === "lease-expired")).toBe(!live);
    },
  );

  it("has a hash of all rows for clients that see everything, and none for others", async () => {
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

  it("has counts since the last survey, which counts in turns, and after a change of one cluster only its own", async () => {
    const { gateway } = openGateway({ scopes: [SHOP] });
    const scoped = gateway.within(SHOP);
    await putSnapshot(gateway, west);
    await putSnapshot(gateway, exporting("east"));
    const reads = vi.spyOn(Reader.prototype, "all");
    const counted = () => scoped.status().clusters.map(({ exports }) => exports);
    expect(counted()).toEqual([undefined, undefined]);
    expect(reads).not.toHaveBeenCalled();
    await scoped.survey();
    expect(counted()).toEqual([1, 1]);
    await putSnapshot(gateway, exporting("east", { headless: true }));
    reads.mockClear();
    expect(counted()).toEqual([undefined, 1]);
    await scoped.survey();
    expect(counted()).toEqual([1, 1]);
    expect(new Set(reads.mock.calls.map(([cluster]) => cluster))).toEqual(new Set(["east"]));
    reads.mockRestore();
  });

  it.each<[string, boolean, (counts: HeldCounts) => void, string[]]>([
    ["the cluster that is counted", false, (counts) => counts.changed("east"), ["west"]],
    ["another cluster", false, (counts) => counts.changed("west"), ["east", "west"]],
    ["any cluster, where imports are hidden", true, (counts) => counts.changed("west"), []],
    ["the clusters", true, (counts) => counts.clusterChanged(), []],
  ])(
    "has no counts of what was counted while there was a change of %s: it is counted again",
    async (_, hidesImports, change, first) => {
      const happens = [change];
      const entries: Pick<DatabaseEntries, "heldClusters" | "countsOf"> = {
        heldClusters: () => ["east", "west"],
        *countsOf() {
          happens.pop()?.(counts);
          yield;
          return { exports: 1, imports: 2 };
        },
      };
      const counts = new HeldCounts(() => entries as DatabaseEntries, hidesImports);
      const clock = new FakeClock();
      const counted = async () => {
        const done = counts.count(new Turns(clock));
        await clock.advance(0);
        await done;
        return ["east", "west"].filter((id) => counts.of(id) !== undefined);
      };
      expect(await counted()).toEqual(first);
      expect(await counted()).toEqual(["east", "west"]);
    },
  );
});
