import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientCountMemory, SharedClientCounts } from "../../../src/limits/shared/client-counts.ts";
import { SharedClientTable } from "../../../src/limits/shared/client-table.ts";
import { SharedBuckets } from "../../../src/limits/shared/shared-buckets.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets something happen just before the next compare-and-exchange, as another thread would. */
function beforeNextExchange(happens: () => void): void {
  const { compareExchange } = Atomics;
  vi.spyOn(Atomics, "compareExchange").mockImplementationOnce(((
    ...given: Parameters<typeof compareExchange>
  ) => {
    happens();
    return compareExchange(...given);
  }) as never);
}

describe("the memory of a table", () => {
  it.each([
    [0, 8],
    [1, 8],
    [8, 8],
    [9, 16],
    [16, 16],
    [17, 32],
    [100, 128],
    [131_072, 131_072],
  ])("for %i clients has %i slots: a power of 2 of sets of 8", (clients, slots) => {
    expect(SharedClientTable.slotsOf(SharedClientTable.allocateKeys(clients))).toBe(slots);
  });

  it("has a hash of its own, which clients do not know", () => {
    const seeds = Array.from({ length: 3 }, () =>
      new Int32Array(SharedClientTable.allocateKeys(8), 0, 2).join(" "),
    );
    expect(new Set(seeds).size).toBe(3);
  });

  it("has no key before the first client", () => {
    const words = new Int32Array(SharedClientTable.allocateKeys(8));
    expect([...words.subarray(2)]).toEqual(new Array(words.length - 2).fill(0));
  });
});

describe("a slot", () => {
  const tableOf = (memory: ClientCountMemory = SharedClientCounts.allocate(8, 2)) => ({
    memory,
    one: new SharedClientCounts(memory, 0),
    other: new SharedClientCounts(memory, 1),
  });

  it("of a client whose hash is the key of an unused slot is not given to others", () => {
    const { memory, one } = tableOf();
    // With these seeds the hash of the empty text is 0.
    new Int32Array(memory.keys, 0, 2).fill(0);
    const slots = ["", "a", "b", "c", "d", "e", "f", "g"].map((client) => one.begin(client));
    expect(new Set(slots).size).toBe(8);
    expect(one.begin("")).toBe(slots[0]);
  });

  it("that another thread gives to the same client at the same time is that of both", () => {
    const { one, other } = tableOf();
    let theirs: number | undefined;
    beforeNextExchange(() => {
      theirs = other.begin("a");
    });
    expect(one.begin("a")).toBe(theirs);
    expect(one.totalOf(theirs!)).toBe(2);
  });

  it("that another thread gives to another client at the same time goes to that one: the next is taken", () => {
    const { one, other } = tableOf();
    let theirs: number | undefined;
    beforeNextExchange(() => {
      theirs = other.begin("b");
    });
    const own = one.begin("a");
    expect(own).not.toBe(theirs);
    expect([one.totalOf(own), one.totalOf(theirs!)]).toEqual([1, 1]);
    expect([one.begin("a"), one.begin("b")]).toEqual([own, theirs]);
  });

  it("is one of the client's set: a full set takes none of the next", () => {
    const { one } = tableOf(SharedClientCounts.allocate(64, 2));
    const sets = new Map<number, Set<number>>();
    for (let client = 0; client < 1000; client++) {
      const slot = one.begin(`client ${client}`);
      const set = slot >> 3;
      sets.set(set, (sets.get(set) ?? new Set()).add(slot));
    }
    expect([...sets.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const slots of sets.values()) expect(slots.size).toBe(8);
  });
});

describe("a token", () => {
  const RATE = { perSecond: 1, burst: 4 };

  function bucketsOf(now = 1000) {
    const clock = { now };
    const memory = SharedBuckets.allocate(8);
    const thread = () => new SharedBuckets(memory, RATE, () => clock.now);
    return { clock, memory, one: thread(), other: thread() };
  }

  it("that another thread takes at the same time is given once", () => {
    const { one, other } = bucketsOf();
    for (let taken = 0; taken < 3; taken++) expect(one.take("a")).toBe(0);
    let theirs: number | undefined;
    beforeNextExchange(() => {
      theirs = other.take("a");
    });
    expect([one.take("a"), theirs]).toEqual([1, 0]);
    expect(one.refusals("a")).toBe(1);
  });

  it("was never refused to a client that gets the slot of another", () => {
    const { clock, one } = bucketsOf();
    const clients = Array.from({ length: 8 }, (_, index) => `client ${index}`);
    for (const client of clients) {
      for (let attempt = 0; attempt < 5; attempt++) one.take(client);
      expect(one.refusals(client)).toBe(1);
    }
    clock.now += 4000;
    expect([one.take("newcomer"), one.refusals("newcomer")]).toEqual([0, 0]);
  });

  it("is there for a new client also while the ticks of the clock are negative, or about to be 0", () => {
    // 16 ticks are one second.
    for (const ticks of [2 ** 31 + 5, 2 ** 32 - 3, 2 ** 32]) {
      const { one } = bucketsOf((ticks * 1000) / 16);
      const taken = Array.from({ length: 5 }, () => one.take("a"));
      expect([ticks, taken]).toEqual([ticks, [0, 0, 0, 0, 1]]);
    }
  });
});
