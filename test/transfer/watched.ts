import fc from "fast-check";
import type { DatabaseEntries } from "../../src/names/database-entries.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { LeaseTables } from "../../src/resolve/record-writer.ts";
import { settle } from "../gateway/fake-clock.ts";
import { REAL_QUERIES } from "../gateway/open-keyed.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openPair, seeded } from "./pair.ts";

/** Time passes in these steps, in milliseconds; each is looked at. */
export const STEP = 50;

/** Something that happens to a primary, a secondary, or the way between them. */
export type Command =
  | { readonly do: "push"; readonly cluster: string; readonly endpoints: number; readonly lease: number }
  | { readonly do: "leave"; readonly cluster: string }
  | { readonly do: "network"; readonly fails: boolean; readonly latency: number }
  | { readonly do: "tear"; readonly torn: boolean }
  | { readonly do: "pass"; readonly steps: number }
  | { readonly do: "ask" };

const cluster = fc.constantFrom("east", "west");
export const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("push" as const),
      cluster,
      endpoints: fc.integer({ min: 1, max: 4 }),
      lease: fc.constantFrom(5, 10, 60),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("network" as const),
      fails: fc.boolean(),
      latency: fc.constantFrom(0, 50, 400, 1500),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tear" as const), torn: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("pass" as const), steps: fc.constantFrom(1, 7, 19, 21, 40, 90) }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
);

/** What the primary served from a time on. */
interface Epoch {
  readonly from: number;
  readonly ready: boolean;
  /** Until when the longest lease runs; no TTL is longer. */
  readonly leasedUntil: number;
  /** Answers a query as the primary would have, had it been asked later. */
  readonly answer: (query: Uint8Array, now: number) => Uint8Array;
}

/**
 * A primary whose every state is remembered, and a secondary of it.
 * @param queries those that are asked
 * @param shares whether another secondary asks as often, and both share what the primary says
 */
export async function openWatched(shares: boolean, seed: number, queries: readonly Uint8Array[]) {
  const { clock, held, gateway, secondary, source, open } = await openPair({}, { random: seeded(seed) });
  source.keeps = shares;
  const other = open();
  const history: Epoch[] = [];
  let last = "";

  const look = () => {
    const now = clock.now();
    const served = gateway.everything.current(now);
    const expiresAt = new Map(
      gateway.everything.status().clusters.map((one) => [one.clusterId, one.expiresAt]),
    );
    const seen = served === undefined ? "" : `${gateway.state.position} ${[...expiresAt].join()}`;
    if (seen === last && history.length > 0) return;
    last = seen;
    if (served === undefined) {
      history.push({
        from: now,
        ready: false,
        leasedUntil: 0,
        answer: (query) => REAL_QUERIES.notReady(query)!.bytes,
      });
      return;
    }
    const leases = new LeaseTables((clusterId) => expiresAt.get(clusterId));
    const world = frozen(served.world);
    const answer = (query: Uint8Array, at: number) =>
      REAL_QUERIES.resolve(query, { world, leases, view: undefined, now: at, stale: false })!.bytes;
    for (const query of queries) answer(query, now);
    history.push({
      from: now,
      ready: true,
      leasedUntil: Math.max(0, ...expiresAt.values()),
      answer,
    });
  };
  const pass = async (steps: number) => {
    for (let step = 0; step < steps; step++) {
      if (shares) other.freshen(clock.now());
      await clock.advance(STEP);
      look();
    }
  };
  /** Waits for a change, looking all the time. */
  const until = async (change: Promise<unknown>) => {
    let settled = false;
    change.then(() => {
      settled = true;
    });
    for (await settle(); !settled; await settle()) {
      await clock.advance(1);
      look();
    }
    look();
  };
  const apply = async (one: Command) => {
    if (one.do === "push") await until(held.put(shopSnapshot(one.cluster, one.endpoints), one.lease));
    else if (one.do === "leave") await until(gateway.leave(one.cluster));
    else if (one.do === "network") {
      source.failure = one.fails ? new Error("unreachable") : undefined;
      source.stateLatency = one.latency;
      source.partLatency = () => one.latency;
    } else if (one.do === "pass") await pass(one.steps);
  };
  /** What the primary served at some time between. */
  const between = (from: number, to: number) =>
    history.filter(
      (epoch, index) => epoch.from <= to && (history[index + 1]?.from ?? Number.POSITIVE_INFINITY) >= from,
    );
  /** Asks one query as a host does, and says what came, when, and after how long. */
  const ask = async (query: Uint8Array) => {
    const asked = clock.now();
    const fresh = secondary.freshen(asked);
    let waits = fresh !== undefined;
    fresh?.then(() => {
      waits = false;
    });
    await clock.advance(0);
    while (waits) await pass(1);
    const now = clock.now();
    const answer = Promise.resolve(secondary.answer(query, undefined, now));
    await until(answer);
    return { bytes: (await answer)!.bytes, now: clock.now(), waited: now - asked };
  };
  return { clock, gateway, source, look, between, apply, ask };
}

/** A world that goes on answering as this one does now, to queries that were asked once. */
function frozen({ entries, context, serial }: KeyWorld): KeyWorld {
  const known = new Map<string, unknown>();
  const kept: DatabaseEntries = new Proxy(entries, {
    get: (_, name) => {
      // The same in steps.
      if (name === "read")
        return function* (...key: [namespace: string, name: string]) {
          yield;
          return kept.service(...key);
        };
      const read = entries[name as keyof DatabaseEntries] as (...values: unknown[]) => unknown;
      return (...values: unknown[]) => {
        const id = `${String(name)} ${values.map(String)}`;
        if (!known.has(id)) {
          const value = read.apply(entries, values) as object | undefined;
          known.set(
            id,
            value !== undefined &&
              Symbol.iterator in Object(value) &&
              !Array.isArray(value) &&
              !(value instanceof Map)
              ? [...(value as Iterable<unknown>)]
              : value,
          );
        }
        return known.get(id);
      };
    },
  });
  return new KeyWorld(kept, { ...context.options, serial }, {}, new Map());
}
