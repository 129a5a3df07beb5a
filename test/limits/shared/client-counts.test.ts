import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClientSlot, SharedClientCounts } from "../../../src/limits/shared.ts";

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
