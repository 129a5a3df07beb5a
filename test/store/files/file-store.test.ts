import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeLine } from "../../../src/store/files/checksum-line.ts";
import { listAll, loadAll, metaOf, patchTo, snapshotOf, wholeOf } from "../changes.ts";
import { describeStore } from "../contract.ts";
import { fileLines, recordEnds } from "./file-lines.ts";
import { openCollecting, stateDirectory } from "./state-directory.ts";

describeStore("file", async () => {
  const directory = stateDirectory();
  const { store } = await openCollecting(directory);
  return {
    store,
    async reopen(opened) {
      await opened.close();
      return (await openCollecting(directory)).store;
    },
  };
});

/** A directory in which "west" was pushed once and patched up to `generations`. */
async function patchedDirectory(generations: number): Promise<string> {
  const directory = stateDirectory();
  const { store } = await openCollecting(directory);
  await store.keep("west", wholeOf(snapshotOf("west", 1), metaOf(1)));
  for (let next = 2; next <= generations; next++)
    await store.keep("west", patchTo(snapshotOf("west", next - 1), snapshotOf("west", next), metaOf(next)));
  await store.close();
  return directory;
}

async function loadOnce(directory: string) {
  const { store, warnings } = await openCollecting(directory);
  const clusters = await loadAll(store);
  await store.close();
  return { clusters, codes: warnings.map(({ code }) => code), warnings };
}

const journalOf = (directory: string) => join(directory, "clusters", "west", "00000001.journal");

describe("a journal that is torn or altered", () => {
  test("loads, cut anywhere, as it was after the last whole record, and takes changes again", async () => {
    const directory = await patchedDirectory(5);
    const whole = readFileSync(journalOf(directory));
    const ends = recordEnds(whole);
    const head = fileLines(whole)[0]!.end;
    expect(ends).toHaveLength(4);
    const around = ends.flatMap((end) => [end - 1, end, end + 1, end + 70]);
    for (const cut of [0, 1, head, ...around].filter((cut) => cut <= whole.length)) {
      writeFileSync(journalOf(directory), whole.subarray(0, cut));
      const generation = 1 + ends.filter((end) => end <= cut).length;
      const expected = { meta: metaOf(generation), snapshot: snapshotOf("west", generation) };
      const { store, warnings } = await openCollecting(directory);
      expect((await loadAll(store)).west).toEqual(expected);
      expect(warnings.length).toBe([0, head, ...ends].includes(cut) ? 0 : 1);
      const change = patchTo(expected.snapshot, snapshotOf("west", 9), metaOf(9));
      await store.keep("west", change);
      await store.close();
      const { clusters, codes } = await loadOnce(directory);
      expect(clusters.west).toEqual({ meta: metaOf(9), snapshot: snapshotOf("west", 9) });
      expect(codes).toEqual([]);
    }
  });

  test("loses what follows an altered byte, and says so", async () => {
    const directory = await patchedDirectory(6);
    const whole = readFileSync(journalOf(directory));
    const ends = recordEnds(whole);
    for (let at = 0; at < whole.length; at += 41) {
      const altered = Buffer.from(whole);
      altered[at]! ^= 1;
      writeFileSync(journalOf(directory), altered);
      const { clusters, codes } = await loadOnce(directory);
      const generation = 1 + ends.filter((end) => end <= at).length;
      expect(clusters.west).toEqual({ meta: metaOf(generation), snapshot: snapshotOf("west", generation) });
      expect(codes).toEqual(["CORRUPT_JOURNAL"]);
    }
  });

  test("a record that does not follow the one before it is not applied", async () => {
    const directory = await patchedDirectory(3);
    const whole = readFileSync(journalOf(directory));
    const record = [["topology", null], { lines: 1, base: 77, meta: metaOf(78) }].map(encodeLine);
    writeFileSync(journalOf(directory), Buffer.concat([whole, ...record]));
    const { clusters, warnings } = await loadOnce(directory);
    expect(clusters.west?.meta.generation).toBe(3);
    expect(warnings[0]?.message).toMatch(/does not follow/);
  });

  test("a delta that is not valid ends the replay before it", async () => {
    const directory = await patchedDirectory(3);
    const records = [
      ["exports", "shop/web", { ports: 1 }],
      { lines: 1, base: 3, meta: metaOf(4) },
      { lines: 0, base: 4, meta: metaOf(5) },
    ];
    const whole = readFileSync(journalOf(directory));
    writeFileSync(journalOf(directory), Buffer.concat([whole, ...records.map(encodeLine)]));
    const { clusters, warnings } = await loadOnce(directory);
    expect(clusters.west).toEqual({ meta: metaOf(3), snapshot: snapshotOf("west", 3) });
    expect(warnings[0]?.message).toMatch(/no longer valid.*ports/);
    expect(statSync(journalOf(directory)).size).toBe(whole.length);
  });
});

describe("a snapshot file that is torn or altered", () => {
  async function twoSnapshots(): Promise<{ directory: string; newest: string }> {
    const directory = await patchedDirectory(3);
    const { store } = await openCollecting(directory);
    await store.keep("west", wholeOf(snapshotOf("west", 4), metaOf(4)));
    await store.keep("east", wholeOf(snapshotOf("east", 1), metaOf(1)));
    await store.close();
    return { directory, newest: join(directory, "clusters", "west", "00000002.snapshot") };
  }

  async function fileOfNorth(): Promise<Buffer> {
    const directory = stateDirectory();
    const { store } = await openCollecting(directory);
    await store.keep("north", wholeOf(snapshotOf("north", 4), metaOf(4)));
    await store.close();
    return readFileSync(join(directory, "clusters", "north", "00000001.snapshot"));
  }

  test.each(["cut", "altered", "emptied", "of another cluster"])(
    "%s: the one before it is loaded",
    async (how) => {
      const { directory, newest } = await twoSnapshots();
      if (how === "cut") truncateSync(newest, statSync(newest).size - 5);
      else if (how === "emptied") truncateSync(newest, 0);
      else if (how === "altered") {
        const bytes = readFileSync(newest);
        bytes[200]! ^= 1;
        writeFileSync(newest, bytes);
      } else writeFileSync(newest, await fileOfNorth());
      const { clusters, codes, warnings } = await loadOnce(directory);
      expect(clusters.west).toEqual({ meta: metaOf(3), snapshot: snapshotOf("west", 3) });
      expect(clusters.east?.meta).toEqual(metaOf(1));
      expect(codes).toEqual(["CORRUPT_SNAPSHOT"]);
      expect(warnings[0]).toMatchObject({ clusterId: "west", path: newest });
    },
  );

  test("what is kept after falling back is loaded after the next restart", async () => {
    const { directory, newest } = await twoSnapshots();
    truncateSync(newest, 10);
    const { store } = await openCollecting(directory);
    await listAll(store);
    await store.keep("west", patchTo(snapshotOf("west", 3), snapshotOf("west", 8), metaOf(8)));
    await store.close();
    expect((await loadOnce(directory)).clusters.west).toEqual({
      meta: metaOf(8),
      snapshot: snapshotOf("west", 8),
    });
  });

  test("with nothing to fall back on, the other clusters load and the cluster is taken again", async () => {
    const { directory, newest } = await twoSnapshots();
    truncateSync(newest, 10);
    writeFileSync(join(directory, "clusters", "west", "00000001.snapshot"), "");
    const { store, warnings } = await openCollecting(directory);
    expect(Object.keys(await loadAll(store))).toEqual(["east"]);
    expect(warnings).toHaveLength(2);
    await store.keep("west", wholeOf(snapshotOf("west", 6), metaOf(6)));
    await store.close();
    expect((await loadOnce(directory)).clusters.west?.meta).toEqual(metaOf(6));
  });

  test("a folder that cannot be read keeps no other cluster from loading", async () => {
    const { directory } = await twoSnapshots();
    writeFileSync(join(directory, "clusters", "north"), "a file where a folder belongs");
    const { clusters, codes } = await loadOnce(directory);
    expect(Object.keys(clusters).sort()).toEqual(["east", "west"]);
    expect(codes).toEqual(["UNREADABLE_CLUSTER"]);
  });
});

describe("a write that fails", () => {
  test("to the journal is not acknowledged, and what is kept next is loaded", async () => {
    const directory = await patchedDirectory(1);
    const { store } = await openCollecting(directory);
    await listAll(store);
    mkdirSync(journalOf(directory));
    const change = patchTo(snapshotOf("west", 1), snapshotOf("west", 2), metaOf(2));
    await expect(store.keep("west", change)).rejects.toMatchObject({ code: "EISDIR" });
    expect((await loadAll(store)).west?.meta).toEqual(metaOf(1));
    await store.keep("west", change);
    await store.keep("west", patchTo(snapshotOf("west", 2), snapshotOf("west", 3), metaOf(3)));
    await store.close();
    expect((await loadOnce(directory)).clusters.west).toEqual({
      meta: metaOf(3),
      snapshot: snapshotOf("west", 3),
    });
  });

  test("of a full snapshot leaves the last one, and changes after it are not lost", async () => {
    const directory = await patchedDirectory(2);
    const { store } = await openCollecting(directory);
    await listAll(store);
    mkdirSync(join(directory, "clusters", "west", "00000002.snapshot"));
    const failing = wholeOf(snapshotOf("west", 5), metaOf(5));
    await expect(store.keep("west", failing)).rejects.toThrow();
    expect((await loadAll(store)).west?.meta).toEqual(metaOf(2));
    await store.keep("west", { kind: "lease", meta: metaOf(2, 4321) });
    await store.close();
    const { clusters } = await loadOnce(directory);
    expect(clusters.west).toEqual({ meta: metaOf(2, 4321), snapshot: snapshotOf("west", 2) });
  });
});

test("a closed store refuses changes", async () => {
  const { store } = await openCollecting(stateDirectory());
  await store.close();
  await store.close();
  const change = wholeOf(snapshotOf("west", 1), metaOf(1));
  await expect(store.keep("west", change)).rejects.toMatchObject({ code: "STORE_CLOSED" });
});

test("a name that is no cluster id never becomes a path", async () => {
  const { store } = await openCollecting(stateDirectory());
  const change = wholeOf(snapshotOf("west", 1), metaOf(1));
  await expect(store.keep("../west", change)).rejects.toThrow(RangeError);
  await store.close();
});

test("checksum lines are read back, and any altered byte is noticed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (values, at, flip) => {
        const bytes = Buffer.concat(values.map((value) => encodeLine(value)));
        const read = fileLines(bytes);
        expect(JSON.stringify(read.map(({ value }) => value))).toBe(JSON.stringify(values));
        const altered = Buffer.from(bytes);
        altered[at % bytes.length]! ^= flip;
        const intact = read.filter(({ end }) => end <= at % bytes.length).length;
        expect(fileLines(altered)).toHaveLength(intact);
      },
    ),
  );
});
