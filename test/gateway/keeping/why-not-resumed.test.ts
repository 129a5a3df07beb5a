import { expect, test } from "vitest";
import type { CompiledCluster, CompiledPush } from "../../../src/gateway/keeping/generation-store.ts";
import { whyNotResumed } from "../../../src/gateway/keeping/why-not-resumed.ts";

const cluster = (clusterId: string, push: CompiledPush): CompiledCluster => ({
  ...{ clusterId, ...push, exports: 1, imports: 0 },
});
const EAST = { generation: 7, ranked: 5 };
const WEST = { generation: 9, ranked: 9 };
const KEPT = [cluster("east", EAST), cluster("west", WEST)];

/** @param joined the clusters that there are now */
const why = (joined: Record<string, CompiledPush>, clusters: readonly CompiledCluster[] | undefined = KEPT) =>
  whyNotResumed(clusters && { services: 2, clusters }, new Map(Object.entries(joined)));

test("goes on from a generation with the same pushes and ranks", () => {
  expect(why({ west: { ...WEST }, east: { ...EAST } })).toBeUndefined();
  expect(why({}, [])).toBeUndefined();
});

test.each<[string, ReturnType<typeof why>]>([
  ["no generation is kept with what its compiler noted", whyNotResumed(undefined, new Map())],
  ["the kept generation has west, which is not stored any more", why({ east: EAST })],
  [
    "the kept generation lacks the newest push of east",
    why({ west: WEST, east: { ...EAST, generation: 8 } }),
  ],
  [
    "when services of west were first seen is not what it was in the kept generation",
    why({ east: EAST, west: { ...WEST, ranked: 8 } }),
  ],
  [
    "when services of east were first seen is not what it was in the kept generation",
    why({ east: { generation: 7 } }, [cluster("east", { generation: 7 })]),
  ],
  ["the kept generation has fewer clusters", why({ east: EAST, west: WEST, north: EAST })],
])("says: %s", (because, found) => {
  expect(found).toBe(because);
});
