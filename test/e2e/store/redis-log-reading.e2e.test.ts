import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PatchLine } from "../../../src/snapshot/lines/patch-line.ts";
import { fieldOf } from "../../../src/store/redis/fields.ts";
import type { LogChange, SharedCluster } from "../../../src/store/shared/shared-log.ts";
import { metaOf } from "../../store/changes.ts";
import { Replica } from "../../store/shared/replica.ts";
import { type OpenedLog, patch, RedisLogs, whole } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

const PODS = 3000;

/** A whole state, or a patch, of pods that have a number. */
function pods(kind: "snapshot" | "patch", generation: number, names: Iterable<number>, text = ""): LogChange {
  const lines = Array.from(names, (name) => ["pods", `shop/${name}`, { generation, text }]);
  return { kind, lines: lines as unknown as PatchLine[], meta: metaOf(generation) };
}
const all = () => Array(PODS).keys();
const gone = (generation: number, name: number) =>
  ({
    kind: "patch",
    lines: [["pods", `shop/${name}`, null]],
    meta: metaOf(generation),
  }) as unknown as LogChange;

/** What lines make. */
async function valuesOf({ lines }: SharedCluster, onLine: () => Promise<void> = async () => {}) {
  const values = new Map<string, unknown>();
  for await (const line of lines) {
    await onLine();
    const field = fieldOf(line);
    const patch = line.at(-1);
    if (patch === null) values.delete(field);
    else {
      // What was there is removed before.
      expect(values.has(field)).toBe(false);
      values.set(field, patch);
    }
  }
  return new Map([...values].sort());
}

/** Changes a cluster while its lines are read, and compares what was read with what is there. */
async function readWhile(changes: readonly (LogChange | "trim")[]) {
  const { log, prefix } = await logs.open();
  const sight = { seenAt: 1, generation: 1, exports: {}, imports: { "shop/web": 1 } };
  const first = { clusterId: "west", base: undefined, change: pods("snapshot", 1, all()), sight };
  let { id: base, position } = await log.append(first);
  const cluster = (await log.stateOf("west"))!;
  let count = 0;
  const left = [...changes];
  const read = await valuesOf(cluster, async () => {
    if (++count % 250 !== 0) return;
    const change = left.shift();
    if (change === "trim") await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    else if (change !== undefined) {
      const seen = { ...sight, seenAt: count, imports: { [`shop/${count}`]: count } };
      ({ id: base, position } = await log.append({ clusterId: "west", base, change, sight: seen }));
    }
  });
  expect(left).toEqual([]);
  const now = (await log.stateOf("west"))!;
  expect([cluster.position, cluster.id]).toEqual([position, base]);
  expect([cluster.meta, cluster.gone, cluster.sight]).toEqual([now.meta, now.gone, now.sight]);
  expect(read).toEqual(await valuesOf(now));
  await log.close();
  return read;
}

describe("a cluster that changes while it is read is what its newest entry made", () => {
  test("by patches that set, remove and add entries", async () => {
    const read = await readWhile([
      pods("patch", 2, [0, 1, 2999, 3001]),
      gone(3, 5),
      gone(4, 2998),
      pods("patch", 5, [5, 7, 1500]),
      gone(6, 3001),
    ]);
    expect(read.size).toBe(PODS - 1);
    expect(read.get("pods/shop/5")).toEqual({ generation: 5, text: "" });
  });

  test("by patches that the log has not any more", async () => {
    const read = await readWhile([gone(2, 5), pods("patch", 3, [9]), "trim", gone(4, 6)]);
    expect(read.size).toBe(PODS - 2);
  });

  test("by a patch that is too large for an entry", async () => {
    const read = await readWhile([pods("patch", 2, all(), "x".repeat(200)), gone(3, 6)]);
    expect(read.get("pods/shop/9")).toMatchObject({ generation: 2 });
  });

  test("by a whole state, and a patch on it", async () => {
    const read = await readWhile([pods("snapshot", 2, [1, 2, 3]), gone(3, 2)]);
    expect([...read.keys()]).toEqual(["pods/shop/1", "pods/shop/3"]);
  });

  test("by its end", async () => {
    expect((await readWhile([gone(2, 1), { kind: "left", generation: 9 }])).size).toBe(0);
  });
});

/** Damages what is kept of "west". */
type Damage = (opened: OpenedLog, entries: string) => Promise<unknown>;
const damages: [string, Damage][] = [
  ["whose entries were deleted", ({ prefix }, entries) => logs.onKey(prefix, "DEL", entries)],
  [
    "whose entries were deleted, and are not whole",
    async ({ prefix }, entries) => {
      await logs.onKey(prefix, "DEL", entries);
      await logs.onKey(prefix, "HSET", entries, "topology", "{}");
    },
  ],
  [
    "of which a value is not JSON",
    ({ prefix }, entries) => logs.onKey(prefix, "HSET", entries, "topology", "{"),
  ],
];

describe("a damaged cluster", () => {
  test.each(damages)(
    "%s is not read, takes no patch, and is sound after a push in full",
    async (_, damage) => {
      const opened = await logs.withWest();
      const { log, base, warnings, prefix } = opened;
      const entries = (await logs.keys(prefix)).find((key) => key.startsWith("entries:"))!;
      await damage(opened, entries);
      const cluster = (await log.stateOf("west"))!;
      expect(cluster.id).toBe(base);
      await expect(valuesOf(cluster)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
      const change = { clusterId: "west", base, change: patch(1) };
      await expect(log.append(change)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
      const warning = { code: "CORRUPT_SNAPSHOT", clusterId: "west", path: `{${prefix}}:${entries}` };
      expect(warnings).toMatchObject([warning, warning]);
      await log.append({ clusterId: "west", base, change: whole(2) });
      const late = await Replica.start((await logs.open(prefix)).log);
      expect(late.state.clusters.west).toMatchObject({ meta: metaOf(2) });
      await Promise.all([log.close(), late.log.close()]);
    },
  );

  test.each([
    ["its id", "1-x 5 10 version {", "1-x"],
    ["nothing", "?", undefined],
  ])("whose record shows %s takes a push in full", async (_, record, base) => {
    const { log, prefix } = await logs.withWest();
    await logs.onKey(prefix, "HSET", "clusters", "west", record);
    const cluster = await log.stateOf("west");
    expect([cluster?.id, cluster?.meta]).toEqual([base, undefined]);
    for (const change of [patch(1), { kind: "expired" }] as LogChange[])
      await expect(log.append({ clusterId: "west", base, change })).rejects.toMatchObject({
        code: "NO_SNAPSHOT",
      });
    await log.append({ clusterId: "west", base, change: whole(2) });
    expect(await logs.onKey(prefix, "XLEN", "log")).toBe(2);
    expect((await log.stateOf("west"))?.meta).toEqual(metaOf(2));
    await log.close();
  });
});

test("gateways load after an entry of the log that cannot be read", async () => {
  const { log, base, prefix, warnings } = await logs.withWest();
  const replica = await Replica.start(log);
  const damage = `
local head = redis.call('HGET', KEYS[1], 'id')
redis.call('XADD', KEYS[2], '2-0', 'id', '2-x', 'before', head, 'entry', '{"kind":"patch"')
redis.call('HSET', KEYS[1], 'position', 2, 'id', '2-x')`;
  await logs.redis.run("EVAL", damage, "2", `{${prefix}}:head`, `{${prefix}}:log`);
  await replica.until(({ reloads }) => reloads.length === 1);
  expect(replica.reloads).toEqual([false]);
  expect(warnings).toMatchObject([{ code: "CORRUPT_JOURNAL", path: `{${prefix}}:log` }]);
  await log.append({ clusterId: "west", base, change: patch(1) });
  await replica.until(({ position }) => position === 3);
  expect(replica.reloads).toEqual([false]);
  expect(replica.state.clusters.west?.meta).toEqual(metaOf(2));
  await log.close();
});
