import { expect, it } from "vitest";
import type { RateName } from "../../../src/limits/client-rate.ts";
import { type ConnectionKind, SharedLimits } from "../../../src/limits/shared/shared-limits.ts";

const KINDS: readonly ConnectionKind[] = ["https", "dns", "dot"];
const RATES: readonly RateName[] = ["requests", "connections", "datagrams", "forwarded"];

function threads(count: number, connections = { https: 8, dns: 8, dot: 8 }) {
  const memory = SharedLimits.allocate({ threads: count, connections });
  const clock = { now: 0 };
  const all = Array.from({ length: count }, (_, thread) => new SharedLimits(memory, thread, () => clock.now));
  return { memory, clock, all };
}

it("what is open is counted by thread, too", () => {
  const { all } = threads(3);
  for (const [thread, limits] of all.entries())
    for (let times = 0; times <= thread; times++) limits.count("dot.connections").begin(100);
  all[0]!.count("stub").begin(100);
  expect(all[1]!.byThread("dot.connections")).toEqual([1, 2, 3]);
  expect(all[1]!.byThread("stub")).toEqual([1, 0, 0]);
  expect(all[1]!.count("dot.connections").total).toBe(6);
});

it("connections of each kind are counted by themselves, and those of a thread that ended no more", () => {
  const { all } = threads(2);
  const [one, other] = all;
  const slots = KINDS.map((kind) => {
    one!.clients(kind).begin("a");
    return other!.clients(kind).begin("a");
  });
  other!.count("requests").begin(9);
  one!.clients("dns").begin("a");
  const totals = () => KINDS.map((kind, index) => one!.clients(kind).totalOf(slots[index]!));
  expect(totals()).toEqual([2, 3, 2]);
  one!.clear(1);
  expect(totals()).toEqual([1, 2, 1]);
  expect(one!.count("requests").total).toBe(0);
});

it("each rate has buckets of its own, which all threads have", () => {
  const { all, clock } = threads(2);
  const rate = { perSecond: 1, burst: 1 };
  for (const name of RATES) {
    expect([name, all[0]!.buckets(name, rate).take("a")]).toEqual([name, 0]);
    expect([name, all[1]!.buckets(name, rate).take("a")]).toEqual([name, 1]);
  }
  clock.now = 1000;
  expect(all[1]!.buckets("datagrams", rate).take("a")).toBe(0);
});

it("twice as many clients as connections have a slot", () => {
  const { memory } = threads(2, { https: 8, dns: 16, dot: 32 });
  const slots = KINDS.map((kind) => memory.clients[kind].counts.byteLength / 4 / 2);
  expect(slots).toEqual([16, 32, 64]);
});
