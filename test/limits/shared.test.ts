import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServeConfig } from "../../src/config/settings.ts";
import { type Rate, TokenBuckets } from "../../src/limits/client-rate.ts";
import {
  type ClientSlot,
  LARGEST_BURST,
  SharedBuckets,
  SharedClientCounts,
} from "../../src/limits/shared.ts";

/**
 * Of 16 ticks a token, at 62.5 tokens a second, each is 1 ms: 2^32 of them are the time after which ticks
 * repeat.
 */
const WRAP = 2 ** 32;

const rates = fc.record({
  perSecond: fc.integer({ min: 1, max: 50 }),
  burst: fc.integer({ min: 1, max: 20 }),
});

function bucketsOf(rate: Rate, clients = 100, start = 0) {
  const clock = { now: start };
  const memory = SharedBuckets.allocate(clients);
  const thread = () => new SharedBuckets(memory, rate, () => clock.now);
  return { clock, thread, buckets: thread() };
}

/** How many of so many attempts get a token. */
function taken(buckets: SharedBuckets, client: string, attempts: number): number {
  let count = 0;
  for (let attempt = 0; attempt < attempts; attempt++) if (buckets.take(client) === 0) count++;
  return count;
}

describe("token buckets in shared memory", () => {
  it("never give more than the burst and what time has filled in, at any time of the clock", () => {
    const pauses = fc.array(fc.nat({ max: 500 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(rates, fc.nat({ max: 2 ** 50 }), pauses, (rate, start, steps) => {
        const { clock, buckets } = bucketsOf(rate, 100, start);
        let count = 0;
        for (const pause of steps) {
          clock.now += pause;
          if (buckets.take("one") === 0) count++;
        }
        // Times are those of ticks, 16 for each token.
        const filled = ((clock.now - start) / 1000) * rate.perSecond + 1 / 16;
        expect(count).toBeLessThanOrEqual(rate.burst + filled);
      }),
    );
  });

  it("give the same as buckets of one thread, also where the ticks of the clock begin again", () => {
    // Of eighths of a second ticks are whole numbers.
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat({ max: 30 })), { maxLength: 100 });
    const starts = fc.constantFrom(0, 1000, (WRAP / 2 - 64) * 125, (WRAP - 64) * 125);
    fc.assert(
      fc.property(rates, steps, starts, (rate, takes, start) => {
        const { clock, buckets } = bucketsOf(rate, 100, start);
        const alone = new TokenBuckets(rate, 100, () => clock.now);
        for (const [client, eighths] of takes) {
          clock.now += eighths * 125;
          expect(buckets.take(client)).toBe(alone.take(alone.of(client)));
          expect(buckets.refusals(client)).toBe(alone.of(client).refused);
        }
      }),
    );
  });

  it("have a token after the returned time", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1000, noNaN: true }), (perSecond) => {
        const { clock, buckets } = bucketsOf({ perSecond, burst: 1 });
        buckets.take("one");
        clock.now += buckets.take("one") * 1000 + 1;
        expect(buckets.take("one")).toBe(0);
      }),
    );
  });

  it("are full after any pause but those after which the ticks of the clock are the same again", () => {
    const { clock, buckets } = bucketsOf({ perSecond: 62.5, burst: 5 });
    for (const pause of [80, 10_000, WRAP / 2, WRAP - 81, WRAP + 80]) {
      expect([pause, taken(buckets, "one", 9)]).toEqual([pause, 5]);
      clock.now += pause;
    }
    expect(taken(buckets, "one", 9)).toBe(5);
    clock.now += WRAP;
    expect(taken(buckets, "one", 9)).toBe(0);
    clock.now += 80;
    expect(taken(buckets, "one", 9)).toBe(5);
  });

  it("are the same for all threads that have the memory", () => {
    const { thread, buckets } = bucketsOf({ perSecond: 1, burst: 4 });
    const other = thread();
    expect([buckets.take("one"), other.take("one"), buckets.take("one"), other.take("one")]).toEqual([
      0, 0, 0, 0,
    ]);
    expect([buckets.take("one"), other.take("one"), buckets.refusals("one")]).toEqual([1, 1, 2]);
    expect(other.take("other")).toBe(0);
  });

  it("can be as large as settings allow", () => {
    const most = 10_000_000;
    expect(ServeConfig.safeParse({ clients: { requestBurst: most + 1 } }).success).toBe(false);
    expect(most).toBeLessThan(LARGEST_BURST);
    // At 62.5 tokens a second a tick is 1 ms. The clock goes back instead of 10,000,000 takes: all but two
    // tokens are missing.
    const { clock, buckets } = bucketsOf({ perSecond: 62.5, burst: most });
    clock.now = (most - 3) * 16;
    expect(buckets.take("one")).toBe(0);
    clock.now = 0;
    expect(taken(buckets, "one", 9)).toBe(2);
    clock.now = (most + 1) * 16;
    expect(buckets.take("one")).toBe(0);
  });
});

describe("a full table of token buckets", () => {
  const CLIENTS = Array.from({ length: 8 }, (_, index) => `client ${index}`);
  const NEWCOMERS = Array.from({ length: 100 }, (_, index) => `newcomer ${index}`);
  const start = () => {
    const { clock, buckets } = bucketsOf({ perSecond: 1, burst: 10 }, CLIENTS.length);
    for (const client of CLIENTS) taken(buckets, client, 6);
    return { clock, buckets };
  };
  const takenByAll = (buckets: SharedBuckets) =>
    NEWCOMERS.filter((client) => buckets.take(client) === 0).length;

  it("gives newcomers the tokens that its buckets have left, then those of the rate of the whole table", () => {
    const { clock, buckets } = start();
    expect([takenByAll(buckets), takenByAll(buckets)]).toEqual([8 * 4, 0]);
    clock.now += 2000;
    expect(takenByAll(buckets)).toBe(8 * 2);
  });

  it("takes nothing from a bucket that is empty", () => {
    const { buckets } = start();
    taken(buckets, CLIENTS[0]!, 4);
    expect(buckets.take(CLIENTS[0]!)).toBe(1);
    takenByAll(buckets);
    // Its bucket gave nothing to others: 1 s fills in one token.
    expect(buckets.take(CLIENTS[0]!)).toBe(1);
  });

  it("has a place for a newcomer once a bucket is full, without loss for the client that had it", () => {
    const { clock, buckets } = start();
    clock.now += 6000;
    expect(taken(buckets, NEWCOMERS[0]!, 20)).toBe(10);
    for (const client of CLIENTS) expect([client, taken(buckets, client, 1)]).toEqual([client, 1]);
  });
});

function threads(count: number, clients = 100) {
  const memory = SharedClientCounts.allocate(clients, count);
  return Array.from({ length: count }, (_, thread) => new SharedClientCounts(memory, thread));
}

describe("the connections of clients", () => {
  it("of a thread that ended no longer count", () => {
    const [one, other] = threads(2);
    const slot = one!.begin("a");
    for (let times = 0; times < 5; times++) other!.begin("a");
    expect(one!.totalOf(slot)).toBe(6);
    one!.clear(1);
    expect(one!.totalOf(slot)).toBe(1);
  });

  it("that are over leave their place to any number of other clients", () => {
    const [counts] = threads(1, 8);
    for (let client = 0; client < 10_000; client++) {
      const slot = counts!.begin(`client ${client}`);
      expect(counts!.totalOf(slot)).toBe(1);
      counts!.end(slot);
    }
  });

  it("of a client that finds the table full count with those of the client that has the fewest", () => {
    const [counts] = threads(1, 8);
    const slots = Array.from({ length: 8 }, (_, client) => {
      const slot = counts!.begin(`client ${client}`);
      for (let more = 0; more < client; more++) counts!.begin(`client ${client}`);
      return slot;
    });
    expect(new Set(slots).size).toBe(8);
    const shared = counts!.begin("newcomer");
    expect([shared, counts!.totalOf(shared)]).toEqual([slots[0], 2]);
    // Bounded like any client: its connections spread over those that have the fewest.
    const totals = Array.from({ length: 50 }, () => counts!.totalOf(counts!.begin("newcomer")));
    expect(Math.max(...totals)).toBe(11);
  });

  it("are never fewer than they are, and all gone in the end, whatever threads do in turn", () => {
    const steps = fc.array(
      fc.record({ thread: fc.nat({ max: 2 }), client: fc.nat({ max: 30 }), opens: fc.boolean() }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const counts = threads(3, 16);
        const open: { thread: number; client: number; slot: ClientSlot }[] = [];
        for (const { thread, client, opens } of all) {
          if (opens) open.push({ thread, client, slot: counts[thread]!.begin(`client ${client}`) });
          else if (open.length > 0) {
            const [ended] = open.splice((client * 7) % open.length, 1);
            counts[ended!.thread]!.end(ended!.slot);
          }
          for (const { slot } of open)
            expect(counts[0]!.totalOf(slot)).toBe(open.filter((one) => one.slot === slot).length);
        }
        for (const { thread, slot } of open) counts[thread]!.end(slot);
        for (const { slot } of open) expect(counts[0]!.totalOf(slot)).toBe(0);
      }),
    );
  });
});
