import fc from "fast-check";
import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import type { ScopedGateway } from "../../src/gateway/gateway-types.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../src/snapshot/schema.ts";
import { snapshotOf } from "../database/pushing.ts";
import { expectMet } from "../property-share.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitraryEndpointGroups, arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { FakeClock } from "./fake-clock.ts";
import { questions } from "./isolation/questions.ts";
import { patchCluster, putSnapshot } from "./open-gateway.ts";
import { answerNow, memoryDatabase, openKeyed, WITHOUT_SERIAL } from "./open-keyed.ts";

/** A clock on which every look takes time, so that work is cut into turns of one step or some. */
class SlowClock extends FakeClock {
  readonly #takes: readonly number[];
  #looks = 0;
  turns = 0;

  constructor(takes: readonly number[]) {
    super();
    this.#takes = takes;
  }

  override now(): number {
    this.stall(this.#takes[this.#looks++ % this.#takes.length]!);
    return super.now();
  }

  override nextTurn(run: () => void): void {
    this.turns++;
    setImmediate(run);
  }
}

const CLUSTERS = ["east", "north", "west"];
const SCOPE: Visibility = { clusters: ["east", "west"] };
/** More namespaces than are written in one transaction. */
const MANY = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`many-${index}`, {}]));

type Step = (
  | { readonly do: "replace" | "patch"; readonly to: ClusterSnapshot; readonly isLarge: boolean }
  | { readonly do: "renew" | "leave" }
  | { readonly do: "endpoints"; readonly endpoints: EndpointGroups }
) & {
  /** The transaction that fails. */
  readonly fails?: number | undefined;
};

/** What a step has a cluster push; undefined for a step without a push. */
function target(one: Step, before: ClusterSnapshot | undefined): ClusterSnapshot | undefined {
  if ("to" in one) return one.isLarge ? { ...one.to, namespaces: { ...one.to.namespaces, ...MANY } } : one.to;
  if (one.do !== "endpoints" || before === undefined) return undefined;
  const exports = Object.entries(before.exports).map(([key, service]) => [
    key,
    { ...service, endpoints: one.endpoints },
  ]);
  return { ...before, exports: Object.fromEntries(exports) };
}

const fails = fc.constantFrom(undefined, undefined, undefined, 1, 2);
const step = (clusterId: string): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom("replace" as const, "patch" as const),
        to: arbitrarySnapshot(fc.constant(clusterId)),
        isLarge: fc.boolean(),
        fails,
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("endpoints" as const),
        endpoints: arbitraryEndpointGroups,
        fails,
      }),
    },
    { weight: 2, arbitrary: fc.constantFrom<Step>({ do: "renew" }, { do: "leave" }) },
  );

/** What is answered to all that can be asked, and what is said of the clusters. */
function seen(gateway: ScopedGateway, worlds: readonly ClusterSnapshot[]) {
  const answers = questions(worlds)
    // Reverse names and the weights of several exporters depend on who came first.
    .filter(({ text }) => !text.includes(".arpa"))
    .flatMap(({ text, query }) =>
      [undefined, ...CLUSTERS].map((view) => {
        const { bytes } = answerNow(gateway, query, view, 0);
        return `${text} ${view} ${Buffer.from(bytes).toString("hex")}`;
      }),
    );
  const clusters = gateway
    .status()
    .clusters.map(({ clusterId, exports, imports, live }) => [clusterId, exports, imports, live]);
  return { answers, clusters };
}

function open(clock: FakeClock, database = memoryDatabase()) {
  return openKeyed({
    clock,
    database,
    scopes: [SCOPE],
    limits: { pushDelaySeconds: 1e9, lease: { minimumSeconds: 1, defaultSeconds: 1e9, maximumSeconds: 1e9 } },
    queries: {
      ...WITHOUT_SERIAL,
      resolve: (query, context) => WITHOUT_SERIAL.resolve(query, { ...context, now: 0 }),
    },
  });
}

it("whatever clusters push at the same time, in whatever turns, and whatever the disk fails to keep: the last snapshots that it kept are answered from", async () => {
  let [runs, turns, torn] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(...CLUSTERS.map((clusterId) => fc.array(step(clusterId), { maxLength: 5 }))),
      fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 5 }),
      async (plans, takes) => {
        runs++;
        const clock = new SlowClock(takes);
        const inner = memoryDatabase();
        const reader = new Reader(inner, () => expect.unreachable());
        /** By cluster: which of its next transactions fails. */
        const failing = new Map<string, number>();
        const gateway = open(clock, {
          ...inner,
          atomically: (write) =>
            inner.atomically(() => {
              const { change } = reader.clustersSince(0);
              const result = write();
              for (const { id } of reader.clustersSince(change).rows) {
                const left = failing.get(id);
                if (left === 1) throw new Error("cannot be stored");
                if (left !== undefined) failing.set(id, left - 1);
              }
              return result;
            }),
        });
        const held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
        const take = async (clusterId: string, one: Step) => {
          const before = held.get(clusterId);
          const isTorn = reader.cluster(clusterId)?.isPartial === true;
          if (one.do === "leave") {
            await gateway.leave(clusterId);
            held.delete(clusterId);
            return;
          }
          const to = target(one, before?.snapshot);
          if (to === undefined) {
            if (before === undefined) return;
            const renewed = gateway.renew(clusterId, before.generation);
            // A push that failed after some of it was written: the next one must be whole.
            if (isTorn) await expect(renewed).rejects.toMatchObject({ code: "GENERATION_MISMATCH" });
            else await renewed;
            return;
          }
          const delta = before && diffSnapshots(before.snapshot, to);
          if (one.fails !== undefined) failing.set(clusterId, one.fails);
          const isPatch = one.do !== "replace" && before !== undefined && !isTorn;
          const pushing = isPatch
            ? patchCluster(gateway, clusterId, before.generation, delta ?? {})
            : putSnapshot(gateway, to);
          const pushed = await pushing.catch((error) => error);
          failing.delete(clusterId);
          if (pushed instanceof Error) {
            expect(pushed.message).toBe("cannot be stored");
            if (reader.cluster(clusterId)?.isPartial) torn++;
            return;
          }
          held.set(clusterId, { snapshot: to, generation: pushed.generation });
          // What is acknowledged is stored, and answered from.
          expect(snapshotOf(reader, clusterId)).toEqual(to);
          expect(
            gateway.everything.status().clusters.find((cluster) => cluster.clusterId === clusterId),
          ).toMatchObject({
            exports: Object.keys(to.exports).length,
            imports: Object.values(to.imports).filter(({ managed }) => managed !== true).length,
          });
        };
        await Promise.all(
          plans.map(async (steps, index) => {
            for (const one of steps) await take(CLUSTERS[index]!, one);
          }),
        );
        turns += clock.turns;
        // What a torn push left is replaced by the next whole one.
        for (const row of reader.clusters()) {
          if (row.isPartial !== true) continue;
          const snapshot = held.get(row.id)?.snapshot ?? {
            ...snapshotOf(reader, row.id),
            exports: {},
            imports: {},
          };
          const { generation } = await putSnapshot(gateway, snapshot);
          held.set(row.id, { snapshot, generation });
        }
        const world = [...held.values()].map(({ snapshot }) => snapshot);
        const expected = open(new FakeClock());
        for (const snapshot of world) await putSnapshot(expected, snapshot);
        for (const snapshot of world) expect(snapshotOf(reader, snapshot.clusterId)).toEqual(snapshot);
        if (world.length === 0) return;
        for (const scope of [undefined, SCOPE]) {
          const within = (of: typeof gateway) => (scope === undefined ? of.everything : of.within(scope));
          if (within(expected).current() === undefined) continue;
          expect(seen(within(gateway), world)).toEqual(seen(within(expected), world));
        }
      },
    ),
    { numRuns: 60 },
  );
  expectMet(turns, runs * 10);
  expectMet(torn, runs / 10);
});
