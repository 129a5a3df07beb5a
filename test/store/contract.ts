import { describe, expect, test } from "vitest";
import type { SnapshotStore } from "../../src/store/store.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { listAll, loadAll, metaOf, patchTo, snapshotOf, wholeOf } from "./changes.ts";

/**
 * What every store does. `open` gives an empty store, and `reopen` the same store after a restart;
 * for a store that does not outlive the process they give the same object.
 */
export function describeStore(
  name: string,
  open: () => Promise<{ store: SnapshotStore; reopen: (store: SnapshotStore) => Promise<SnapshotStore> }>,
): void {
  describe(`${name}: the contract of a snapshot store`, () => {
    test("is empty at first", async () => {
      const { store } = await open();
      expect(await listAll(store)).toEqual([]);
      await store.close();
    });

    test("loads each cluster as it was kept last, before and after a restart", async () => {
      const { store, reopen } = await open();
      await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
      await store.keep("east.eu", wholeOf(snapshotOf("east.eu", 5), metaOf(5)));
      await store.keep("west", patchTo(snapshotOf("west", 1), snapshotOf("west", 2), metaOf(2)));
      await store.keep("west", { kind: "lease", meta: metaOf(2, 99_999) });
      await store.keep("west", patchTo(snapshotOf("west", 2), snapshotOf("west", 3), metaOf(3)));
      const expected = {
        west: { meta: metaOf(3), snapshot: snapshotOf("west", 3) },
        "east.eu": { meta: metaOf(5), snapshot: snapshotOf("east.eu", 5) },
      };
      expect(await loadAll(store)).toEqual(expected);
      const restarted = await reopen(store);
      expect(await loadAll(restarted)).toEqual(expected);
      expect(await loadAll(restarted)).toEqual(expected);
      await restarted.close();
    });

    test("goes on after a restart from what was loaded", async () => {
      const { store, reopen } = await open();
      await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
      await store.keep("west", patchTo(snapshotOf("west", 1), snapshotOf("west", 2), metaOf(2)));
      const second = await reopen(store);
      await listAll(second);
      await second.keep("west", { kind: "lease", meta: metaOf(2, 12_345) });
      await second.keep("west", patchTo(snapshotOf("west", 2), snapshotOf("west", 7), metaOf(7)));
      const third = await reopen(second);
      expect(await loadAll(third)).toEqual({ west: { meta: metaOf(7), snapshot: snapshotOf("west", 7) } });
      await third.close();
    });

    test("a lease changes the times and nothing else", async () => {
      const { store, reopen } = await open();
      await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
      await store.keep("west", { kind: "lease", meta: metaOf(1, 777) });
      const restarted = await reopen(store);
      expect(await loadAll(restarted)).toEqual({
        west: { meta: metaOf(1, 777), snapshot: snapshotOf("west", 1) },
      });
      await restarted.close();
    });

    test("refuses a lease of a cluster that it does not hold", async () => {
      const { store } = await open();
      await expect(store.keep("west", { kind: "lease", meta: metaOf(1) })).rejects.toThrow(/west/);
      expect(await listAll(store)).toEqual([]);
      await store.close();
    });

    test("forgets a removed cluster for good, and takes it again", async () => {
      const { store, reopen } = await open();
      await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
      await store.keep("west", wholeOf(snapshotOf("west", 2), metaOf(2)));
      await store.keep("east", wholeOf(emptySnapshot("east"), metaOf(3)));
      await store.remove("west");
      await store.remove("never-seen");
      expect(Object.keys(await loadAll(store))).toEqual(["east"]);
      const second = await reopen(store);
      expect(Object.keys(await loadAll(second))).toEqual(["east"]);
      await second.keep("west", wholeOf(snapshotOf("west", 9), metaOf(9)));
      const third = await reopen(second);
      expect((await loadAll(third)).west?.meta).toEqual(metaOf(9));
      await third.close();
    });

    test("keeps many changes of many clusters at once", async () => {
      const { store, reopen } = await open();
      const clusterIds = Array.from({ length: 8 }, (_, index) => `cluster-${index}`);
      await Promise.all(
        clusterIds.map(async (clusterId) => {
          await store.keep(clusterId, wholeOf(snapshotOf(clusterId, 0), metaOf(0)));
          for (let generation = 1; generation <= 20; generation++)
            await store.keep(
              clusterId,
              patchTo(
                snapshotOf(clusterId, generation - 1),
                snapshotOf(clusterId, generation),
                metaOf(generation),
              ),
            );
        }),
      );
      const restarted = await reopen(store);
      const loaded = await loadAll(restarted);
      for (const clusterId of clusterIds)
        expect(loaded[clusterId]).toEqual({ meta: metaOf(20), snapshot: snapshotOf(clusterId, 20) });
      await restarted.close();
    });
  });
}
