import fc from "fast-check";
import { expect, it } from "vitest";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { createDurableObjectStore } from "../../src/store/rows/durable-object-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";
import { seeWorld } from "../merge/seen-world.ts";
import { mergeWhole } from "../merge/whole-merge.ts";
import { expectMet } from "../property-share.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { sqliteDouble } from "../store/rows/sqlite-double.ts";
import { arbitraryEndpointGroups, arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { FakeClock } from "./fake-clock.ts";
import { heldOf, patchCluster, putSnapshot } from "./pushes.ts";
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

type Step = (
  | { readonly do: "replace" | "patch"; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly to?: undefined }
  | { readonly do: "endpoints"; readonly to?: undefined; readonly endpoints: EndpointGroups }
) & { readonly fails?: boolean };

const oneInThree = fc.nat({ max: 2 }).map((number) => number === 0);

/** What a step has a cluster push; undefined for a step without a push. */
function target(one: Step, before: ClusterSnapshot | undefined): ClusterSnapshot | undefined {
  if (one.do !== "endpoints" || before === undefined) return one.to;
  const exports = Object.entries(before.exports).map(([key, service]) => [
    key,
    { ...service, endpoints: one.endpoints },
  ]);
  return { ...before, exports: Object.fromEntries(exports) };
}

const step = (clusterId: string): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom("replace" as const, "patch" as const),
        to: arbitrarySnapshot(fc.constant(clusterId)),
        fails: oneInThree,
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("endpoints" as const),
        endpoints: arbitraryEndpointGroups,
        fails: oneInThree,
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

/** A store that takes a turn for each change, and fails for the clusters in a set, once each. */
function slowStore(inner: SnapshotStore, clock: FakeClock, failing: Set<string>): SnapshotStore {
  return {
    load: () => inner.load(),
    keep: async (clusterId, change) => {
      await new Promise<void>((resolve) => clock.nextTurn(resolve));
      if (failing.delete(clusterId)) throw new Error("cannot be stored");
      await inner.keep(clusterId, change);
    },
    ...(inner.entries !== undefined && { entries: (clusterId) => inner.entries!(clusterId) }),
    remove: (clusterId) => inner.remove(clusterId),
    close: () => inner.close(),
  };
}

async function openWorld(takes: readonly number[], inner: SnapshotStore) {
  const clock = new SlowClock(takes);
  const failing = new Set<string>();
  const store = slowStore(inner, clock, failing);
  const gateway = await Gateway.open({
    ...{ store, clock, scopes: [SCOPE], stages: realStages() },
    limits: { pushDelaySeconds: 1e6, lease: { minimumSeconds: 1, defaultSeconds: 1e6, maximumSeconds: 1e6 } },
    onEvent: (event) => {
      if (event.event === "compile-failed") throw event.error;
    },
  });
  const servedIn = (scope?: Visibility) => (scope === undefined ? gateway : gateway.within(scope)).current(0);
  return { clock, gateway, failing, servedIn };
}

/** What is known of names: reverse names depend on who came first. */
function namesOf({ names, trunk }: Generation) {
  return { names: names.hash, frame: trunk.frame, stems: trunk.stems.hash };
}

it.each(STORES)(
  "whatever clusters push at the same time, in whatever slices, and whatever the store fails to keep: the last snapshots that it kept are answered from, entries %s",
  async (_, createStore) => {
    let runs = 0;
    let turns = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(...CLUSTERS.map((clusterId) => fc.array(step(clusterId), { maxLength: 5 }))),
        fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5 }),
        async (plans, takes) => {
          runs++;
          const { clock, gateway, failing, servedIn } = await openWorld(takes, createStore());
          const held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
          const take = async (clusterId: string, one: Step) => {
            const before = held.get(clusterId);
            if (one.do === "leave") {
              await gateway.leave(clusterId);
              held.delete(clusterId);
              return;
            }
            const to = target(one, before?.snapshot);
            if (to === undefined) {
              if (before !== undefined) await gateway.renew(clusterId, before.generation);
            } else {
              const delta = before && diffSnapshots(before.snapshot, to);
              if (one.fails) failing.add(clusterId);
              const pushed =
                one.do !== "replace" && before !== undefined
                  ? patchCluster(gateway, clusterId, before.generation, delta ?? {})
                  : putSnapshot(gateway, to);
              if (one.fails) {
                await expect(pushed).rejects.toThrow("cannot be stored");
                return;
              }
              const { generation } = await pushed;
              held.set(clusterId, { snapshot: to, generation });
              // What is acknowledged is answered from.
              expect(
                gateway.status().clusters.find((cluster) => cluster.clusterId === clusterId),
              ).toMatchObject({
                exports: Object.keys(to.exports).length,
                imports: Object.keys(to.imports).length,
              });
            }
          };
          const drive = async (work: Promise<unknown>) => {
            let isDone = false;
            const ended = work.finally(() => (isDone = true));
            for (let left = 20_000; !isDone && left > 0; left--, turns++) {
              clock.stall(1);
              await clock.turn();
            }
            expect(isDone).toBe(true);
            await ended;
          };
          await drive(
            Promise.all(
              plans.map(async (steps, index) => {
                for (const one of steps) await take(CLUSTERS[index]!, one);
              }),
            ),
          );
          // Nobody waits until what was taken back is compiled; a change of nothing does.
          const nothing = Array.from(held, ([id, { generation }]) =>
            patchCluster(gateway, id, generation, {}),
          );
          await drive(Promise.all(nothing));
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
            expect(heldOf(gateway, snapshot.clusterId)).toEqual(snapshot);
        },
      ),
      { numRuns: 60 },
    );
    expectMet(turns, runs * 34);
  },
);
