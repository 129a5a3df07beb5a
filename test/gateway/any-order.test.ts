import fc from "fast-check";
import { expect, it } from "vitest";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { createDurableObjectStore } from "../../src/store/rows/durable-object-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";
import { seeWorld } from "../merge/seen-world.ts";
import { mergeWhole } from "../merge/whole-merge.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { sqliteDouble } from "../store/rows/sqlite-double.ts";
import { arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { FakeClock } from "./fake-clock.ts";
import { realStages } from "./real-stages.ts";

/** A clock on which every look takes time, so that work is cut into slices of one step or some. */
class SlowClock extends FakeClock {
  readonly #takes: readonly number[];
  #looks = 0;

  constructor(takes: readonly number[]) {
    super();
    this.#takes = takes;
  }

  override now(): number {
    this.stall(this.#takes[this.#looks++ % this.#takes.length]!);
    return super.now();
  }
}

const CLUSTERS = ["east", "north", "west"];
const SCOPE: Visibility = { clusters: ["east", "west"] };

type Step =
  | { readonly do: "replace" | "patch"; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly to?: undefined };

const step = (clusterId: string): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom("replace" as const, "patch" as const),
        to: arbitrarySnapshot(fc.constant(clusterId)),
      }),
    },
    { weight: 2, arbitrary: fc.constantFrom<Step>({ do: "renew" }, { do: "leave" }) },
  );

const STORES: readonly (readonly [string, () => SnapshotStore])[] = [
  ["in memory", createMemoryStore],
  [
    "in rows, from which they are read",
    () =>
      createDurableObjectStore(sqliteDouble(), {
        onWarning: ({ message }) => {
          throw new Error(message);
        },
      }),
  ],
];

async function openWorld(takes: readonly number[], store: SnapshotStore) {
  const clock = new SlowClock(takes);
  const gateway = await Gateway.open({
    ...{ store, clock, scopes: [SCOPE], stages: realStages() },
    limits: { pushDelaySeconds: 1e6, lease: { minimumSeconds: 1, defaultSeconds: 1e6, maximumSeconds: 1e6 } },
    onEvent: (event) => {
      if (event.event === "compile-failed") throw event.error;
    },
  });
  const servedIn = (scope?: Visibility) => (scope === undefined ? gateway : gateway.within(scope)).current(0);
  return { clock, gateway, servedIn };
}

/** What is known of names: reverse names depend on who came first. */
function namesOf({ names, trunk }: Generation) {
  return { names: names.hash, frame: trunk.frame, stems: trunk.stems.hash };
}

it.each(STORES)(
  "whatever clusters push at the same time, in whatever slices: the last snapshots are answered from, entries %s",
  async (_, createStore) => {
    let turns = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(...CLUSTERS.map((clusterId) => fc.array(step(clusterId), { maxLength: 5 }))),
        fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5 }),
        async (plans, takes) => {
          const { clock, gateway, servedIn } = await openWorld(takes, createStore());
          const held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
          const take = async (clusterId: string, one: Step) => {
            const before = held.get(clusterId);
            if (one.do === "leave") {
              await gateway.leave(clusterId);
              held.delete(clusterId);
            } else if (one.to === undefined) {
              if (before !== undefined) await gateway.renew(clusterId, before.generation);
            } else {
              const delta = before && diffSnapshots(before.snapshot, one.to);
              const { generation } =
                one.do === "patch" && before !== undefined
                  ? await gateway.patch(clusterId, before.generation, delta ?? {})
                  : await gateway.replace(clusterId, one.to);
              held.set(clusterId, { snapshot: one.to, generation });
              // What is acknowledged is answered from.
              expect(
                gateway.status().clusters.find((cluster) => cluster.clusterId === clusterId),
              ).toMatchObject({
                exports: Object.keys(one.to.exports).length,
                imports: Object.keys(one.to.imports).length,
              });
            }
          };
          let isDone = false;
          const all = Promise.all(
            plans.map(async (steps, index) => {
              for (const one of steps) await take(CLUSTERS[index]!, one);
            }),
          ).finally(() => (isDone = true));
          for (let left = 20_000; !isDone && left > 0; left--, turns++) {
            clock.stall(1);
            await clock.turn();
          }
          expect(isDone).toBe(true);
          await all;
          const world = [...held.values()].map(({ snapshot }) => snapshot);
          for (const scope of [undefined, SCOPE]) {
            const whole = mergeWhole(seeWorld(scope ?? {}, world));
            if (whole.clusters.length === 0) continue;
            const compiled = compileGeneration(whole, { ttl: 30 });
            const served = servedIn(scope)!;
            expect(namesOf(served.generation)).toEqual(namesOf(compiled.generation));
            expect(served.services).toBe(whole.services.length);
            expect(served.conflicts).toEqual(whole.conflicts);
            expect(served.findings).toEqual(expect.arrayContaining([...whole.findings]));
          }
          for (const { snapshot } of held.values())
            expect(gateway.snapshotOf(snapshot.clusterId)).toEqual(snapshot);
        },
      ),
      { numRuns: 60 },
    );
    expect(turns).toBeGreaterThan(2000);
  },
);
