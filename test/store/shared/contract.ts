import { describe, expect, test } from "vitest";
import { fieldOf } from "../../../src/store/redis/fields.ts";
import type { LogChange, LogDraft, SharedLog, Sight } from "../../../src/store/shared/shared-log.ts";
import { linesOf } from "../../snapshot/changes.ts";
import { metaOf, patchTo, snapshotOf, wholeOf } from "../changes.ts";
import { Replica } from "./replica.ts";

/** One gateway's log, which can be cut off. */
export interface Connected {
  readonly log: SharedLog;
  disconnect(): void;
  reconnect(): void;
}

/** An empty log. */
export interface LogUnderTest {
  connect(): Promise<Connected>;
  /** Leaves the newest entry in the log, and nothing before it. */
  trim(): Promise<void>;
  /** Returns a function after which the engine has what it has now, and has lost everything since. */
  checkpoint(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const first = (clusterId = "west") => wholeOf(snapshotOf(clusterId, 1), metaOf(1)) as LogChange;
const next = (from: number, to = from + 1, clusterId = "west") =>
  patchTo(snapshotOf(clusterId, from), snapshotOf(clusterId, to), metaOf(to)) as LogChange;
const lease = (generation: number, expiresAt: number): LogChange => ({
  kind: "lease",
  meta: metaOf(generation, expiresAt),
});
const left: LogChange = { kind: "left", generation: 9 };
const sightOf = (seenAt: number, exports: Sight["exports"], imports: Sight["imports"] = {}): Sight => ({
  ...{ seenAt, generation: seenAt, exports, imports },
});

/** What every shared log does. @param open gives an empty log */
export function describeSharedLog(name: string, open: () => Promise<LogUnderTest>): void {
  /** Runs a test with gateways that follow. */
  const withReplicas =
    (count: number, body: (log: LogUnderTest, ...replicas: Following[]) => Promise<void>) => async () => {
      const log = await open();
      const replicas: Following[] = [];
      for (let at = 0; at < count; at++) replicas.push(await follow(log));
      await body(log, ...replicas);
      await Promise.all(replicas.map(({ log }) => log.close()));
      await log.close();
    };

  describe(`${name}: the contract of a shared log`, () => {
    test(
      "is empty at first",
      withReplicas(1, async (_, a) => {
        expect(a.replica.position).toBe(0);
        expect(a.replica.state).toEqual({ clusters: {}, founding: undefined, orders: {} });
        expect(await a.log.stateOf("west")).toBeUndefined();
      }),
    );

    test(
      "every gateway applies all changes in one order, and one that comes later loads what they made",
      withReplicas(2, async (log, a, b) => {
        const sight = sightOf(1, { "shop/web": ["2024-01-01T00:00:00Z", 5] }, { "shop/db": 7 });
        const founding = { at: 1, over: false };
        await a.add("west", first(), { sight, founding });
        await b.after(a).add("west", next(1), { sight: sightOf(2, { "shop/web": null }, { "shop/x": 8 }) });
        await b.add("east", first("east"));
        await a.after(b).add("west", lease(2, 99_999));
        await both(a, b);
        expect(a.replica.state).toEqual({
          founding,
          orders: {},
          clusters: {
            west: {
              meta: metaOf(2, 99_999),
              values: valuesOf(2),
              sight: sightOf(2, {}, { "shop/db": 7, "shop/x": 8 }),
            },
            east: { meta: metaOf(1), values: valuesOf(1, "east"), sight: undefined },
          },
        });
        expect(b.replica.state).toEqual(a.replica.state);
        expect(a.replica.entries).toEqual(b.replica.entries);
        expect(a.replica.entries.map(({ position, kind }) => [position, kind])).toEqual([
          [1, "snapshot"],
          [2, "patch"],
          [3, "snapshot"],
          [4, "lease"],
        ]);
        const late = await follow(log);
        expect([late.replica.position, late.replica.state]).toEqual([4, a.replica.state]);
        await late.log.close();
      }),
    );

    test(
      "an entry has the lines of a small patch, and none of a whole state",
      withReplicas(1, async (_, a) => {
        await a.add("west", first(), { sight: sightOf(1, { "shop/web": ["x", 1] }) });
        await a.add("west", next(1), { sight: sightOf(2, {}) });
        await a.applied();
        const [whole, patch] = a.replica.entries;
        expect(whole).toMatchObject({ kind: "snapshot", meta: metaOf(1) });
        expect(whole).not.toHaveProperty("lines");
        expect(patch).toMatchObject({ lines: (next(1) as { lines: unknown }).lines, sight: sightOf(2, {}) });
      }),
    );

    test(
      "a large patch is read from the state",
      withReplicas(2, async (_, a, b) => {
        await a.add("west", first());
        const annotations = Object.fromEntries(
          Array.from({ length: 400 }, (_, at) => [`a${at}`, "x".repeat(1000)]),
        );
        const lines = [["findings", "shop/web", annotations]] as unknown as [];
        const ranks = sightOf(3, { "shop/web": ["y", 2] });
        await a.add("west", { kind: "patch", lines, meta: metaOf(2) }, { sight: ranks });
        await both(a, b);
        expect(b.replica.entries[1]).not.toHaveProperty("lines");
        expect(b.replica.state.clusters.west).toEqual({
          meta: metaOf(2),
          values: { ...valuesOf(1), "findings/shop/web": annotations },
          sight: ranks,
        });
      }),
    );

    test(
      "a change that builds on another than the newest is not added",
      withReplicas(2, async (log, a, b) => {
        const west = await a.add("west", first());
        await a.add("west", next(1));
        const changed = { code: "BASE_CHANGED" };
        for (const base of [undefined, "7-x", west.id])
          for (const change of [first(), next(1), lease(1, 5), left])
            await expect(b.log.append({ clusterId: "west", base, change })).rejects.toMatchObject(changed);
        const gone = { clusterId: "east", base: west.id, change: first("east") };
        await expect(b.log.append(gone)).rejects.toMatchObject(changed);
        await both(a, b);
        expect(b.replica.position).toBe(2);
        const late = await follow(log);
        expect(late.replica.state).toEqual(a.replica.state);
        await late.log.close();
      }),
    );

    test(
      "a change of a cluster that is not there is rejected, but for a whole state and an end",
      withReplicas(1, async (_, a) => {
        const add = (change: LogChange) => a.log.append({ clusterId: "west", base: undefined, change });
        for (const change of [next(1), lease(1, 5), { kind: "expired" }] as LogChange[])
          await expect(add(change)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
        await a.add("west", first());
        await a.add("west", left);
        await expect(a.add("west", next(1))).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
        await a.add("west", wholeOf(snapshotOf("west", 5), metaOf(5)) as LogChange);
        await a.applied();
        expect(a.replica.state.clusters.west).toMatchObject({ meta: metaOf(5), values: valuesOf(5) });
      }),
    );

    test(
      "one of several gateways that change a cluster at once adds its change",
      withReplicas(2, async (_, a, b) => {
        const base = (await a.add("west", first())).id;
        const race = await Promise.allSettled(
          [a, b, a, b].map(({ log }, at) => log.append({ clusterId: "west", base, change: next(1, 2 + at) })),
        );
        expect(race.map(({ status }) => status).sort()).toEqual([
          "fulfilled",
          "rejected",
          "rejected",
          "rejected",
        ]);
        for (const { replica } of [a, b]) await replica.until(({ position }) => position === 2);
        const winner = race.findIndex(({ status }) => status === "fulfilled");
        expect(a.replica.state.clusters.west).toMatchObject({ values: valuesOf(2 + winner) });
        expect(b.replica.state).toEqual(a.replica.state);
      }),
    );

    test(
      "a cluster can leave whose lease ended, or that the log does not have, and nothing else but a whole state follows",
      withReplicas(2, async (_, a, b) => {
        const meta = { ...metaOf(1), expiresAt: metaOf(1).renewedAt };
        await a.add("west", wholeOf(snapshotOf("west", 1), meta) as LogChange);
        await a.add("west", { kind: "expired" });
        await expect(a.add("west", lease(1, 5))).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
        await b.after(a).add("west", left);
        await both(a, b);
        expect(await a.log.stateOf("west")).toMatchObject({
          meta: undefined,
          gone: { why: "left", generation: 9, meta },
        });
        await b.add("west", left);
        await b.add("north", left);
        await both(b, a);
        for (const { log } of [a, b])
          expect(await log.stateOf("north")).toMatchObject({
            meta: undefined,
            gone: { why: "left", generation: 9, meta: undefined },
          });
        await expect(b.add("north", next(1))).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
        await a.add("north", first());
        await both(a, b);
        await b.add("west", first());
        await both(b, a);
        expect(a.replica.state.clusters.west).toMatchObject({ meta: metaOf(1), values: valuesOf(1) });
      }),
    );

    test(
      "the ranks of a cluster that left stay, and its entries do not",
      withReplicas(2, async (log, a, b) => {
        const sight = sightOf(1, { "shop/web": ["x", 1] });
        await a.add("west", first(), { sight });
        await b.after(a).add("west", left);
        await both(a, b);
        const gone = { why: "left", generation: 9, meta: metaOf(1) };
        expect(await a.log.stateOf("west")).toMatchObject({ meta: undefined, gone });
        const late = await follow(log);
        for (const { replica } of [a, b, late])
          expect(replica.state.clusters).toEqual({ west: { meta: undefined, values: {}, sight } });
        await late.add("west", first());
        await both(late, a);
        expect(a.replica.state.clusters.west).toEqual({ meta: metaOf(1), values: valuesOf(1), sight });
        await late.log.close();
      }),
    );

    test(
      "a lease expires when it has passed on the log's clock, whatever its times say",
      withReplicas(2, async (_, a, b) => {
        // Its gateway's clock is in 1970.
        await a.add("west", { ...first(), meta: metaOf(1, 1 + 3_600_000) } as LogChange);
        await expect(a.add("west", { kind: "expired" })).rejects.toMatchObject({ code: "BASE_CHANGED" });
        const { elapsed } = (await a.log.stateOf("west"))!;
        expect(elapsed).toBeGreaterThanOrEqual(0);
        expect(elapsed).toBeLessThan(3_600_000);
        await a.add("west", { kind: "lease", meta: metaOf(1, 1) });
        await b.after(a).add("west", { kind: "expired" });
        await both(a, b);
        expect(a.replica.state.clusters.west).toEqual({ meta: undefined, values: {}, sight: undefined });
        expect(a.replica.entries.at(-1)).toMatchObject({ kind: "expired", clusterId: "west" });
        expect((await a.log.stateOf("west"))!.gone).toEqual({
          ...{ why: "expired", generation: 1, meta: metaOf(1, 1) },
        });
        await b.add("west", first());
        expect((await a.log.stateOf("west"))!.gone).toBeUndefined();
      }),
    );

    test(
      "orders of claims are decided once",
      withReplicas(2, async (log, a, b) => {
        await a.log.decide({ "10.0.0.1": ["a", "b"], "10.0.0.2": ["c"] }, {}, 0);
        await b.log.decide({ "10.0.0.1": ["b", "a"], "10.0.0.3": ["d"] }, {}, 0);
        await b.log.decide({ "10.0.0.1": ["x"] }, { "10.0.0.1": ["b", "a"] }, 0);
        await b.log.decide(
          { "10.0.0.1": ["a", "b", "c"], "10.0.0.2": null },
          {
            "10.0.0.1": ["a", "b"],
            "10.0.0.2": ["c"],
          },
          0,
        );
        await a.log.decide({ "10.0.0.9": null, "10.0.0.3": ["d"] }, { "10.0.0.3": ["d"] }, 0);
        await a.add("west", first());
        await both(a, b);
        expect(a.replica.entries.slice(0, -1)).toEqual([
          { kind: "orders", position: 1, orders: { "10.0.0.1": ["a", "b"], "10.0.0.2": ["c"] } },
          { kind: "orders", position: 2, orders: { "10.0.0.3": ["d"] } },
          { kind: "orders", position: 3, orders: { "10.0.0.1": ["a", "b", "c"], "10.0.0.2": null } },
        ]);
        const late = await follow(log);
        for (const { replica } of [a, b, late])
          expect(replica.state.orders).toEqual({ "10.0.0.1": ["a", "b", "c"], "10.0.0.3": ["d"] });
        await late.log.close();
      }),
    );

    test(
      "an order with a claim of a cluster that left since it was decided does not count, also if the cluster is back",
      withReplicas(1, async (_, a) => {
        const claims = ["west shop/web", "east shop/web"];
        await a.add("west", first());
        const { position } = await a.add("east", wholeOf(snapshotOf("east", 1), metaOf(1)));
        await a.add("west", left);
        await a.log.decide({ "10.0.0.1": claims, "10.0.0.2": ["east shop/db"] }, {}, position);
        const { position: back } = await a.add("west", first());
        await a.log.decide({ "10.0.0.1": claims }, {}, position);
        await a.log.decide({ "10.0.0.3": claims }, {}, back);
        await a.add("east", next(1));
        await both(a, a);
        expect(a.replica.state.orders).toEqual({ "10.0.0.2": ["east shop/db"], "10.0.0.3": claims });
      }),
    );

    test(
      "a state names the entry that its lines end with, though changes come while they are read",
      withReplicas(1, async (_, a) => {
        await a.add("west", first());
        for (const change of [next(1), wholeOf(snapshotOf("west", 3), metaOf(3)), left]) {
          const cluster = (await a.log.stateOf("west"))!;
          const before = cluster.position;
          const newest = await a.add("west", change as LogChange);
          const values: Record<string, unknown> = {};
          for await (const line of cluster.lines) {
            const field = fieldOf(line);
            if (line.at(-1) === null) delete values[field];
            else values[field] = line.at(-1);
          }
          expect(newest.position).toBe(before + 1);
          expect([cluster.position, cluster.id]).toEqual([newest.position, newest.id]);
          expect(cluster.meta).toEqual("meta" in change ? change.meta : undefined);
          if (cluster.meta !== undefined) expect(values).toEqual(valuesOf(cluster.meta.generation));
        }
      }),
    );

    test(
      "a gateway that was cut off says so, cannot add, and applies what it missed",
      withReplicas(2, async (_, a, b) => {
        await a.add("west", first());
        await both(a, b);
        b.disconnect();
        await b.replica.until(({ connections }) => connections.length === 1);
        expect(b.replica.connections[0]).toMatch(/./);
        const draft = { clusterId: "west", base: b.replica.idOf("west"), change: next(1) };
        await expect(b.log.append(draft)).rejects.toMatchObject({ code: "STORE_FAILED" });
        await a.add("west", next(1));
        b.reconnect();
        await both(a, b);
        await b.replica.until(({ connections }) => connections.length === 2);
        expect(b.replica.connections[1]).toBeUndefined();
        expect(b.replica.reloads).toEqual([]);
        expect(b.replica.state).toEqual(a.replica.state);
      }),
    );

    test(
      "a gateway that was cut off for longer than the log reaches back loads again",
      withReplicas(2, async (log, a, b) => {
        await a.add("west", first());
        await both(a, b);
        b.disconnect();
        await b.replica.until(({ connections }) => connections.length === 1);
        await a.add("west", next(1));
        await a.add("west", next(2));
        await log.trim();
        b.reconnect();
        await b.replica.until(({ position }) => position === 3);
        expect(b.replica.reloads).toEqual([false]);
        expect(b.replica.state).toEqual(a.replica.state);
        await a.add("west", next(3));
        await both(a, b);
        expect(b.replica.state).toEqual(a.replica.state);
      }),
    );

    test.each([
      ["nothing was added since", 0],
      ["as much was added since", 2],
      ["more was added since", 3],
    ])("gateways load again after the engine lost what they had applied, and %s", (_, added) =>
      withReplicas(2, async (log, a, b) => {
        await a.add("west", first());
        await both(a, b);
        const restore = await log.checkpoint();
        await a.add("west", next(1));
        await a.add("west", next(2));
        await both(a, b);
        for (const { disconnect, replica } of [a, b]) {
          disconnect();
          await replica.until(({ connections }) => connections.length === 1);
        }
        await restore();
        for (const gateway of [a, b]) gateway.forget();
        const other = await follow(log);
        for (let at = 0; at < added; at++) await other.add("west", next(at + 1, at + 2));
        for (const { reconnect, replica } of [a, b]) {
          reconnect();
          await replica.until(({ reloads }) => reloads.length === 1);
        }
        await both(other, a, b);
        for (const { replica } of [a, b]) {
          expect(replica.reloads).toEqual([true]);
          expect(replica.state).toEqual(other.replica.state);
        }
        await other.log.close();
      })(),
    );

    test(
      "gateways notice that an engine which they are connected to lost everything",
      withReplicas(2, async (log, a, b) => {
        const restore = await log.checkpoint();
        await a.add("west", first());
        await both(a, b);
        await restore();
        for (const gateway of [a, b]) gateway.forget();
        for (const { replica } of [a, b]) {
          await replica.until(({ reloads }) => reloads.length === 1);
          expect(replica.reloads).toEqual([true]);
          expect(replica.state.clusters).toEqual({});
        }
        await a.add("west", first());
        await both(a, b);
        expect(b.replica.state.clusters.west).toMatchObject({ values: valuesOf(1) });
      }),
    );

    test(
      "many changes of many clusters through several gateways make one state",
      withReplicas(3, async (log, ...gateways) => {
        await Promise.all(
          Array.from({ length: 6 }, async (_, number) => {
            const clusterId = `cluster-${number}`;
            const { log } = gateways[number % 3]!;
            let base = (await log.append({ clusterId, base: undefined, change: first(clusterId) })).id;
            for (let generation = 1; generation <= 15; generation++) {
              const { log } = gateways[(number + generation) % 3]!;
              const change = next(generation, generation + 1, clusterId);
              base = (await log.append({ clusterId, base, change })).id;
            }
          }),
        );
        for (const { replica } of gateways) await replica.until(({ position }) => position === 96);
        const late = await follow(log);
        for (const { replica } of [...gateways, late])
          for (let number = 0; number < 6; number++)
            expect(replica.state.clusters[`cluster-${number}`]).toEqual({
              meta: metaOf(16),
              values: valuesOf(16, `cluster-${number}`),
              sight: undefined,
            });
        await late.log.close();
      }),
    );
  });
}

/** A gateway that follows the log. */
interface Following extends Connected {
  readonly replica: Replica;
  /** Adds a change to what this gateway applied, or added itself. */
  add(
    clusterId: string,
    change: LogChange,
    more?: Pick<LogDraft, "sight" | "founding">,
  ): Promise<{ readonly position: number; readonly id: string }>;
  /** The same gateway; its next changes build on what the other one added. */
  after(other: Following): Following;
  /** Resolves when everything that this gateway added is applied. */
  applied(): Promise<unknown>;
  /** Forgets what it added, which the engine lost. */
  forget(): void;
  readonly newest: Map<string, string>;
  last: number;
}

async function follow(under: LogUnderTest): Promise<Following> {
  const connected = await under.connect();
  const { log } = connected;
  const replica = await Replica.start(log);
  const newest = new Map<string, string>();
  const following: Following = {
    ...connected,
    ...{ replica, newest, last: 0 },
    async add(clusterId, change, more = {}) {
      const base = newest.get(clusterId) ?? replica.idOf(clusterId);
      const added = await log.append({ clusterId, base, change, ...more });
      newest.set(clusterId, added.id);
      following.last = added.position;
      return added;
    },
    after(other) {
      for (const [clusterId, id] of other.newest) newest.set(clusterId, id);
      following.last = Math.max(following.last, other.last);
      return following;
    },
    forget() {
      newest.clear();
      following.last = 0;
    },
    applied: () => replica.until(({ position }) => position >= following.last),
  };
  return following;
}

/** Waits until all gateways have applied what each of them added. */
async function both(...gateways: Following[]): Promise<void> {
  const last = Math.max(...gateways.map(({ last }) => last));
  for (const { replica } of gateways) await replica.until(({ position }) => position >= last);
}

/** The values of a state by field. */
function valuesOf(generation: number, clusterId = "west"): Record<string, unknown> {
  const lines = [...linesOf(snapshotOf(clusterId, generation))];
  return Object.fromEntries(lines.map((line) => [fieldOf(line), line.at(-1)]));
}
