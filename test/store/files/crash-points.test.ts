import type * as FileSystem from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { Background } from "../../../src/store/files/background.ts";
import { ClusterFolder } from "../../../src/store/files/cluster-folder.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { metaOf, patchTo, wholeOf } from "../changes.ts";
import { stateDirectory } from "./state-directory.ts";

/** The process dies before its operation number `at`: from then on nothing reaches the disk. */
const death = vi.hoisted(() => ({ at: Number.POSITIVE_INFINITY, operations: 0, tears: false, renames: 0 }));

class Dead extends Error {}

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof FileSystem>();
  const step = () => {
    if (++death.operations >= death.at) throw new Dead(`operation ${death.operations}`);
  };
  const write = async (file: FileSystem.FileHandle, bytes: Buffer) => {
    // A write that is torn reaches the disk in part.
    if (death.tears && death.operations + 1 === death.at)
      await file.appendFile(bytes.subarray(0, bytes.length / 2));
    step();
    await file.appendFile(bytes);
  };
  return {
    ...real,
    async open(path: string, flags: string, mode?: number) {
      if (flags !== "r") step();
      const file = await real.open(path, flags, mode);
      return {
        close: () => file.close(),
        stat: () => file.stat(),
        read: (buffer: Buffer, offset: number, length: number, position: number) =>
          file.read(buffer, offset, length, position),
        async truncate(length: number) {
          step();
          await file.truncate(length);
        },
        async sync() {
          step();
          await file.sync();
        },
        async datasync() {
          step();
          await file.datasync();
        },
        writeFile: (bytes: Buffer) => write(file, bytes),
        appendFile: (bytes: Buffer) => write(file, bytes),
      };
    },
    async rename(from: string, to: string) {
      step();
      death.renames++;
      await real.rename(from, to);
    },
    async rm(path: string, options: object) {
      step();
      await real.rm(path, options);
    },
  };
});

const worldOf = (generation: number) => ({
  ...shopSnapshot("west", 300),
  exports: {
    "shop/web": headlessExport(300 + generation),
    "shop/api": headlessExport(generation),
    ...(generation % 2 === 0 && { "shop/even": headlessExport(generation) }),
  },
  topology: { region: `generation-${generation}` },
});

/** More than a journal has before it is compacted. */
const LARGE = headlessExport(700);

/** What `live` does in turn: a full push, deltas, renewals, deltas that are compacted in the background. */
const CHANGES = [
  { generation: 1, change: () => wholeOf(worldOf(1), metaOf(1)) },
  { generation: 2, change: () => patchTo(worldOf(1), worldOf(2), metaOf(2)) },
  { generation: 2, change: () => ({ kind: "lease", meta: metaOf(2, 99) }) as const },
  ...Array.from({ length: 3 }, (_, at) => ({
    generation: at + 3,
    change: () => patchTo(stateOf(at + 2), stateOf(at + 3), metaOf(at + 3)),
  })),
  { generation: 6, change: () => wholeOf(stateOf(6), metaOf(6)) },
  ...Array.from({ length: 2 }, (_, at) => ({
    generation: at + 7,
    change: () => patchTo(stateOf(at + 6), stateOf(at + 7), metaOf(at + 7)),
  })),
];

/** The state of a generation. From 3 on it changes by 70 KB each time. */
function stateOf(generation: number) {
  const world = worldOf(generation);
  return generation < 3
    ? world
    : { ...world, exports: { ...world.exports, [`shop/large-${generation}`]: LARGE } };
}

async function open(path: string, warnings: StoreWarning[] = []) {
  const warn = (warning: StoreWarning) => warnings.push(warning);
  return ClusterFolder.open({ path, clusterId: "west", warn, background: new Background() });
}

/** Makes all changes, or as many as it lives for. @returns the last generation that was acknowledged */
async function live(path: string, settles: boolean): Promise<number> {
  let acknowledged = 0;
  let folder: ClusterFolder | undefined;
  try {
    ({ folder } = await open(path));
    for (const { generation, change } of CHANGES) {
      await folder.keep(change());
      acknowledged = generation;
      // Otherwise compactions and changes are made at once.
      if (settles) await folder.close();
    }
  } catch (error) {
    if (!(error instanceof Dead)) throw error;
  } finally {
    await folder?.close();
  }
  return acknowledged;
}

test.each([
  { settles: true, tears: false, how: "one after the other" },
  { settles: true, tears: true, how: "one after the other, with torn writes" },
  { settles: false, tears: true, how: "beside changes, with torn writes" },
])(
  "death before any write, rename, sync and removal loses nothing acknowledged and loads nothing torn: compactions $how",
  async ({ settles, tears }) => {
    for (let at = 1; ; at++) {
      const path = `${stateDirectory()}/west`;
      Object.assign(death, { at, operations: 0, tears, renames: 0 });
      const acknowledged = await live(path, settles);
      const died = death.operations >= at;
      // Two are those of full pushes.
      if (!died) expect(death.renames).toBeGreaterThan(2);
      death.at = Number.POSITIVE_INFINITY;
      const warnings: StoreWarning[] = [];
      const { folder, cluster } = await open(path, warnings);
      const generation = cluster?.meta.generation ?? 0;
      const next = CHANGES.find((change) => change.generation > acknowledged)?.generation;
      expect([acknowledged, next]).toContain(generation);
      if (cluster !== undefined) expect(cluster.snapshot).toEqual(stateOf(generation));
      expect(warnings.filter(({ code }) => code === "CORRUPT_SNAPSHOT")).toEqual([]);
      // What follows is kept, too.
      const { change } =
        cluster === undefined
          ? CHANGES[0]!
          : { change: () => patchTo(stateOf(generation), stateOf(20), metaOf(20)) };
      await folder.keep(change());
      await folder.close();
      const after = await open(path);
      expect(after.cluster?.snapshot).toEqual(cluster === undefined ? worldOf(1) : stateOf(20));
      await after.folder.close();
      if (!died) break;
    }
  },
);
