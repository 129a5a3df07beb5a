import { expect, test } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { RememberedBranch } from "../../../src/zone/generation/directory.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { emptySnapshot, headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { askSecondary } from "../pair.ts";
import { partsIn, passUntil, secondaryOf, startOver } from "./stored-gateway.ts";

/** A cluster with so many services in namespaces of its own: enough for several segments. */
function wide(services: number) {
  const keys = Array.from({ length: services }, (_, index) => `ns-${index % 7}/service-${index}`);
  return {
    ...emptySnapshot("wide"),
    namespaces: Object.fromEntries(keys.map((key) => [key.slice(0, key.indexOf("/")), {}])),
    exports: Object.fromEntries(keys.map((key) => [key, headlessExport(8)])),
  };
}

/** The same with addresses that no two services share. */
function wideApart(services: number) {
  const world = wide(services);
  const exports = Object.entries(world.exports).map(([key, own], index) => {
    const text = JSON.stringify(own).replaceAll(/10\.\d+\.\d+\./g, `10.1.${index}.`);
    return [key, JSON.parse(text) as typeof own];
  });
  return { ...world, exports: Object.fromEntries(exports) };
}

async function openWide() {
  const database = sqliteDouble();
  const clock = new FakeClock();
  const started = startOver(database, clock);
  const gateway = await started.open();
  await passUntil(clock, putSnapshot(gateway, wide(200), { leaseSeconds: 600 }));
  await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", 3), { leaseSeconds: 600 }));
  return { database, clock, gateway, ...started };
}

test("a generation refers to the segments in rows, and holds none of them", async () => {
  const { gateway, clock } = await openWide();
  const { names, reverse } = gateway.current(clock.now())!.generation;
  const branches = [...names.entries, ...reverse.entries].map(({ branch }) => branch);
  expect(branches.length).toBeGreaterThan(8);
  for (const branch of branches) expect(branch).toBeInstanceOf(RememberedBranch);
});

test("it says how long all of them are, and has the root of a gateway with its segments in memory", async () => {
  const { gateway, clock, database } = await openWide();
  const { generation } = gateway.current(clock.now())!;
  const [row] = database.sql.exec("SELECT sum(length(body)) AS bytes FROM generation_parts").toArray();
  expect(generation.byteLength).toBeGreaterThan(20_000);
  expect(generation.byteLength).toBeLessThanOrEqual(Number(row!.bytes));
  const inMemory = startOver(sqliteDouble(), clock);
  const other = await inMemory.open({ isHeld: true });
  await passUntil(clock, putSnapshot(other, wide(200), { leaseSeconds: 600 }));
  await passUntil(clock, putSnapshot(other, shopSnapshot("west", 3), { leaseSeconds: 600 }));
  expect(other.status().rootHash).toBe(generation.rootHash);
  expect(other.status().generationBytes).toBe(generation.byteLength);
});

test("every segment is handed out, and those that were replaced for a while", async () => {
  const { gateway, clock, primary } = await openWide();
  const transfer = primary.of("")!;
  transfer.state();
  const { names, reverse } = gateway.current(clock.now())!.generation;
  const hashes = [...names.entries, ...reverse.entries].map(({ branch }) => branch.hash);
  for (const hash of hashes) expect(transfer.segment(hash, "")?.bytes.length).toBeGreaterThan(100);
  await passUntil(clock, putSnapshot(gateway, wide(10), { leaseSeconds: 600 }));
  transfer.state();
  for (const hash of hashes) expect(transfer.segment(hash, "")).toBeDefined();
  clock.stall(10_000);
  const { addresses } = await askSecondary(
    secondaryOf(transfer, clock),
    clock,
    "service-7.ns-0.svc.clusterset.local",
  );
  expect(addresses).toHaveLength(8);
  expect(hashes.filter((hash) => transfer.segment(hash, "") === undefined).length).toBeGreaterThan(0);
});

test.each([65_536, 100, 0])(
  "a process that starts again and holds at most %s names of addresses has the same root, answers and segments",
  async (fresh) => {
    const database = sqliteDouble();
    const clock = new FakeClock();
    const weights = { names: 40, reverse: 20 };
    const first = startOver(database, clock, { weights });
    const gateway = await first.open();
    await passUntil(clock, putSnapshot(gateway, wideApart(200), { leaseSeconds: 600 }));
    for (const _ of first.generations.sweep());
    const { rootHash } = gateway.status();
    const parts = partsIn(database);
    let written = 0;
    const counting: SqlDatabase = {
      transactionSync: (change) => database.transactionSync(change),
      sql: {
        exec(query, ...bindings) {
          if (query.startsWith("INSERT INTO generation_parts")) written++;
          return database.sql.exec(query, ...bindings);
        },
      },
    };
    const again = startOver(counting, clock, { weights: { ...weights, fresh } });
    const next = await again.open();
    expect(next.status().rootHash).toBe(rootHash);
    expect(partsIn(database)).toEqual(parts);
    if (fresh === 65_536) expect(written).toBe(0);
    else expect(written).toBeGreaterThan(fresh === 0 ? 100 : 20);
    const { addresses } = await askSecondary(
      secondaryOf(again.primary.of("")!, clock),
      clock,
      "service-7.ns-0.svc.clusterset.local",
    );
    expect(addresses).toHaveLength(8);
  },
);

test("segments that were written for no generation are gone after a sweep", async () => {
  const database = sqliteDouble();
  const clock = new FakeClock();
  const { generations, open } = startOver(database, clock);
  const gateway = await open();
  const { generation } = compileGeneration(mergeClusterset([wide(190)]));
  for (const segment of generation.segments()) generations.hold(segment);
  await passUntil(clock, putSnapshot(gateway, wide(200), { leaseSeconds: 600 }));
  const served = new Set(Array.from(gateway.current(clock.now())!.generation.segments(), ({ hash }) => hash));
  const unused = Array.from(generation.segments(), ({ hash }) => hash).filter((hash) => !served.has(hash));
  const before = partsIn(database);
  expect(before.filter((hash) => unused.includes(hash)).length).toBeGreaterThan(2);
  for (const _ of generations.sweep());
  expect(partsIn(database)).toEqual(before.filter((hash) => !unused.includes(hash)));
});

test("the change of a root comes with the segments that are new, if they are few", async () => {
  const { gateway, clock, primary } = await openWide();
  const transfer = primary.of("")!;
  const before = transfer.state().status.rootHash!;
  await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", 4), { leaseSeconds: 600 }));
  const few = transfer.root(transfer.state().status.rootHash!, before)!;
  expect(few.since).toBe(before);
  const { bytes } = transfer.segment(newest(gateway, clock), "")!;
  expect(Buffer.from(few.bytes).includes(Buffer.from(bytes))).toBe(true);
});

/** The hash of the segment with the names of `shop/web`, which changed last. */
function newest(gateway: Awaited<ReturnType<typeof openWide>>["gateway"], clock: FakeClock): string {
  const { names } = gateway.current(clock.now())!.generation;
  const name = Buffer.from("\x03web");
  const found = names.entries.find(({ branch }) => Buffer.from(branch.segment!.bytes).includes(name));
  return found!.branch.hash;
}
