import fc from "fast-check";
import { expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { expectMet } from "../../property-share.ts";
import { BEGAN, DAY, HOUR, ReverseWorld, reporting } from "./reverse-world.ts";

const CLUSTERS = ["east", "north", "west"];
const ADDRESSES = ["10.0.0.1", "10.0.0.2", "2001:db8::1"];
/** Longer than any history takes. */
const LONG = 1000 * HOUR;

type Step<Pushed> =
  | { readonly do: "put" | "patch"; readonly cluster: string; readonly has: Pushed; readonly lease: number }
  | { readonly do: "leave"; readonly cluster: string }
  | { readonly do: "wait" | "restart" };

function stepOf<Pushed>(clusters: readonly string[], has: fc.Arbitrary<Pushed>): fc.Arbitrary<Step<Pushed>> {
  const cluster = fc.constantFrom(...clusters);
  const way = fc.constantFrom("put" as const, "patch" as const);
  const push = fc.record({ do: way, cluster, has, lease: fc.constantFrom(2 * HOUR, LONG) });
  return fc.oneof(
    { weight: 6, arbitrary: push },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("wait" as const, "restart" as const) }) },
  );
}

/** Carries a step out. */
async function take<Pushed>(
  world: ReverseWorld,
  one: Step<Pushed>,
  report: (clusterId: string, has: Pushed) => ClusterSnapshot,
): Promise<void> {
  if (one.do === "wait") await world.clock.advance(HOUR);
  else if (one.do === "restart") world.restart();
  else if (one.do === "leave") await world.leave(one.cluster);
  else if ("has" in one) {
    const how = world.leaseOf(one.cluster) === undefined ? "put" : one.do;
    await world[how](report(one.cluster, one.has), one.lease);
  }
}

/**
 * Who has what, as docs/reference/names-and-records.md says it: a list for each address, first come first.
 */
class Model {
  readonly #lines = new Map<string, string[]>(ADDRESSES.map((address) => [address, []]));

  push(clusterId: string, has: readonly string[]): void {
    for (const [address, line] of this.#lines) {
      const place = line.indexOf(clusterId);
      if (has.includes(address) && place < 0) line.push(clusterId);
      if (!has.includes(address) && place >= 0) line.splice(place, 1);
    }
  }

  owner(address: string, isLive: (clusterId: string) => boolean): string | undefined {
    return this.#lines.get(address)!.find(isLive);
  }
}

it.each(["headless", "clusterset IP"] as const)(
  "whatever clusters push, the reverse name of a %s is that of the live cluster that reported the address first",
  async (kind) => {
    let runs = 0;
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 3, maxLength: 3 }),
        fc.array(stepOf(CLUSTERS, fc.tuple(fc.constantFrom("one", "two"), fc.subarray(ADDRESSES))), {
          minLength: 3,
          maxLength: 14,
        }),
        async (ages, steps) => {
          runs++;
          const world = new ReverseWorld();
          const model = new Model();
          // An address stays a cluster's that reports it for another one of its services.
          const report = (clusterId: string, [service, has]: readonly [string, readonly string[]]) => {
            const since = new Date(BEGAN - ages[CLUSTERS.indexOf(clusterId)]! * 24 * HOUR).toISOString();
            return reporting(clusterId, kind, { [`${service}-of-${clusterId}`]: { since, has } });
          };
          const holders = () =>
            ADDRESSES.map((address) => model.owner(address, (id) => world.leaseOf(id) !== undefined));
          for (const one of steps) {
            const before = holders();
            await take(world, one, report);
            if ("cluster" in one) model.push(one.cluster, "has" in one ? one.has[1] : []);
            const after = holders();
            moved += after.filter((holder, index) => holder !== before[index]).length;
            const answered = ADDRESSES.map((address) => world.owner(address)?.replace(/^.*of-/, ""));
            expect(answered).toEqual(after);
          }
        },
      ),
      { numRuns: 300 },
    );
    expectMet(moved, runs * 1.34);
  },
);

const HOSTILE = "mallory";

/** By service: how the hostile cluster reports addresses for it. */
type Forged = Readonly<Record<string, { readonly how: string; readonly has: readonly string[] }>>;

const forged: fc.Arbitrary<Forged> = fc.dictionary(
  fc.constantFrom("db", "api", "web", "mine"),
  fc.record({
    how: fc.constantFrom("headless", "other export", "addressed", "import", "headless import"),
    has: fc.subarray(ADDRESSES, { minLength: 1 }),
  }),
  { maxKeys: 3, noNullPrototype: true },
);

function forge({ services, namespace }: { services: Forged; namespace: boolean }): ClusterSnapshot {
  const exports: Record<string, ReturnType<typeof exported>> = {};
  const imports: Record<string, ReturnType<typeof imported>> = {};
  for (const [name, { how, has }] of Object.entries(services)) {
    const key = `shop/${name}`;
    const members = endpoints(...has.map((address) => ({ address })));
    if (how === "headless") exports[key] = exported({ headless: true, endpoints: members });
    if (how === "other export") exports[key] = exported({ endpoints: members });
    if (how === "addressed") exports[key] = exported();
    if (how === "addressed" || how === "import") imports[key] = imported({ ips: [...has] });
    if (how === "headless import")
      imports[key] = imported({ type: "Headless", endpoints: { [HOSTILE]: members } });
  }
  return snapshot(HOSTILE, { namespaces: namespace ? { shop: {} } : {}, exports, imports });
}

it("whatever a hostile cluster pushes, it takes no reverse name from a cluster that has it", async () => {
  let runs = 0;
  let [kept, taken] = [0, 0];
  const honest = stepOf(["east", "west"], fc.subarray(ADDRESSES));
  const hostile = stepOf(
    [HOSTILE],
    fc.record({ services: forged, namespace: fc.integer({ max: 4 }).map((one) => one !== 0) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 2, arbitrary: honest }, { weight: 3, arbitrary: hostile }), {
        minLength: 4,
        maxLength: 16,
      }),
      async (steps) => {
        runs++;
        const world = new ReverseWorld();
        const report = (clusterId: string, has: readonly string[]) =>
          reporting(clusterId, "headless", { [clusterId === "east" ? "db" : "api"]: { has } });
        // North decides a service that others may export or import.
        await world.put(snapshot("north", { exports: { "shop/web": exported() } }));
        for (const cluster of ["east", "west"]) await world.put(report(cluster, []));
        await world.clock.advance(2 * DAY);
        for (const one of steps) {
          const owners = () => ADDRESSES.map((address) => world.owner(address));
          const before = owners();
          const isReturning = world.gateway.state.expired.has(HOSTILE);
          if (!("cluster" in one)) await take(world, one, report as never);
          else if (one.cluster !== HOSTILE) await take(world, one as Step<readonly string[]>, report);
          else {
            await take(world, one as Step<Parameters<typeof forge>[0]>, (_, has) => forge(has));
            const after = owners();
            for (const [index, owner] of before.entries()) {
              if (owner !== "east.db" && owner !== "west.api") continue;
              // What it reported before an outage it has again.
              if (!isReturning) expect(after[index]).toBe(owner);
              if (after[index] === owner) kept++;
              else taken++;
            }
          }
        }
      },
    ),
    { numRuns: 500 },
  );
  expectMet(kept, runs);
  expect(taken).toBeLessThan(kept / 10);
});
