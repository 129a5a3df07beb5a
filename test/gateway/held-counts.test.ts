import { expect, test } from "vitest";
import { Turns } from "../../src/gateway/clock.ts";
import { HeldCounts } from "../../src/gateway/held-counts.ts";
import type { DatabaseEntries } from "../../src/names/database-entries.ts";
import { FakeClock } from "./fake-clock.ts";

/** Two clusters, and something that happens while the first one is counted. */
function countsOf(hidesImports: boolean, meanwhile: (counts: HeldCounts) => void) {
  const happens = [meanwhile];
  const entries: Pick<DatabaseEntries, "heldClusters" | "countsOf"> = {
    heldClusters: () => ["east", "west"],
    *countsOf() {
      happens.pop()?.(counts);
      yield;
      return { exports: 1, imports: 2 };
    },
  };
  const counts = new HeldCounts(() => entries as DatabaseEntries, hidesImports);
  return counts;
}

test.each<[string, boolean, (counts: HeldCounts) => void, string[], string[]]>([
  ["of the cluster that is counted", false, (counts) => counts.changed("east"), ["west"], ["east", "west"]],
  ["of another cluster", false, (counts) => counts.changed("west"), ["east", "west"], ["east", "west"]],
  [
    "of any cluster, where imports are hidden",
    true,
    (counts) => counts.changed("west"),
    [],
    ["east", "west"],
  ],
  ["of the clusters", true, (counts) => counts.clusterChanged(), [], ["east", "west"]],
])(
  "what is counted while there is a change %s is counted again",
  async (_, hidesImports, change, first, then) => {
    const clock = new FakeClock();
    const counts = countsOf(hidesImports, change);
    const counted = async () => {
      const done = counts.count(new Turns(clock));
      await clock.advance(0);
      await done;
      return ["east", "west"].filter((id) => counts.of(id) !== undefined);
    };
    expect(await counted()).toEqual(first);
    expect(await counted()).toEqual(then);
  },
);
