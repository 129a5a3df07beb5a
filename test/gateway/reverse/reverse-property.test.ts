import fc from "fast-check";
import { expect, it } from "vitest";
import { expectMet } from "../../property-share.ts";
import { BEGAN, HOUR, openReverseWorld, reporting } from "./reverse-world.ts";

const CLUSTERS = ["east", "north", "west"];
const ADDRESSES = ["10.0.0.1", "10.0.0.2", "2001:db8::1"];
/** Longer than any history takes. */
const LONG = 1000 * HOUR;

type Step =
  | {
      readonly do: "put" | "patch";
      readonly cluster: string;
      readonly has: readonly string[];
      readonly lease: number;
    }
  | { readonly do: "leave"; readonly cluster: string }
  | { readonly do: "wait" | "restart" };

const cluster = fc.constantFrom(...CLUSTERS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("put" as const, "patch" as const),
      cluster,
      has: fc.subarray(ADDRESSES),
      lease: fc.constantFrom(2 * HOUR, LONG),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("wait" as const, "restart" as const) }) },
);

/** Who has what, as SECURITY.md says it: a list for each address, first come first. */
class Model {
  readonly #live = new Map<string, { readonly has: ReadonlySet<string>; readonly until: number }>();
  readonly #lines = new Map<string, string[]>(ADDRESSES.map((address) => [address, []]));

  isLive(clusterId: string): boolean {
    return this.#live.has(clusterId);
  }

  push(clusterId: string, has: readonly string[], until: number): void {
    this.#live.set(clusterId, { has: new Set(has), until });
    for (const [address, line] of this.#lines) {
      const place = line.indexOf(clusterId);
      if (has.includes(address) && place < 0) line.push(clusterId);
      if (!has.includes(address) && place >= 0) line.splice(place, 1);
    }
    this.#forget();
  }

  leave(clusterId: string): void {
    this.#live.delete(clusterId);
    for (const line of this.#lines.values())
      if (line.includes(clusterId)) line.splice(line.indexOf(clusterId), 1);
    this.#forget();
  }

  expire(now: number): void {
    for (const [clusterId, { until }] of this.#live) if (until <= now) this.#live.delete(clusterId);
    this.#forget();
  }

  owner(address: string): string | undefined {
    return this.#lines.get(address)!.find((clusterId) => this.#live.has(clusterId));
  }

  /** An outage keeps the place before others, and nothing else. */
  #forget(): void {
    for (const line of this.#lines.values()) {
      const last = line.findLastIndex((clusterId) => this.#live.has(clusterId));
      if (last >= 0) line.length = last + 1;
      else if (line.length < 2) line.length = 0;
    }
  }
}

it.each(["headless", "clusterset IP"] as const)(
  "whatever clusters push, the reverse name of a %s stays with a live cluster that keeps the address",
  async (kind) => {
    let runs = 0;
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 3, maxLength: 3 }),
        fc.array(step, { minLength: 3, maxLength: 14 }),
        async (ages, steps) => {
          runs++;
          const world = await openReverseWorld();
          const model = new Model();
          const report = (clusterId: string, has: readonly string[]) => {
            const since = new Date(BEGAN - ages[CLUSTERS.indexOf(clusterId)]! * 24 * HOUR).toISOString();
            return reporting(clusterId, kind, { [`of-${clusterId}`]: { since, has } });
          };
          const holders = () => ADDRESSES.map((address) => model.owner(address));
          for (const one of steps) {
            const before = holders();
            if (one.do === "put" || one.do === "patch") {
              const how = model.isLive(one.cluster) ? one.do : "put";
              await world[how](report(one.cluster, one.has), one.lease);
              // A delta of nothing renews nothing.
              model.push(one.cluster, one.has, world.leaseOf(one.cluster));
            } else if (one.do === "leave") {
              await world.leave(one.cluster);
              model.leave(one.cluster);
            } else if (one.do === "wait") {
              await world.clock.advance(HOUR);
              model.expire(world.clock.now());
            } else await world.restart();
            const after = holders();
            moved += after.filter((holder, index) => holder !== before[index]).length;
            const answered = ADDRESSES.map((address) => world.owner(address)?.replace(/^.*of-/, ""));
            expect(answered).toEqual(after);
          }
        },
      ),
      { numRuns: 150 },
    );
    expectMet(moved, runs * 1.34);
  },
);
