import { expect, test } from "vitest";
import { DesiredState, DesiredStateError } from "../../../src/worker/control/desired.ts";
import { desiredImport, desiredSlice, linesOf, START, stateWith, take } from "./desired-lines.ts";

test("lines count from the next position on, all together", () => {
  const state = new DesiredState(() => 0, 0);
  for (const line of [START, { leases: { a: 60 } }, ...linesOf()])
    expect(state.take(line)).toEqual("leases" in line ? "all" : undefined);
  expect(state.service("shop/db", "b").import).toBeUndefined();
  expect(state.take({ position: "1" })).toBe("all");
  expect(state.service("shop/db", "b").import).toEqual(desiredImport());
  expect(state.position).toBe("1");
});

test("changes touch their keys and leave the rest", () => {
  const state = stateWith([...linesOf(), { import: "shop/web", desired: desiredImport() }]);
  state.begin();
  state.take({ start: "changes", formatVersion: 1 });
  state.take({ service: "shop/db", cluster: "a", slice: "v4-0", desired: desiredSlice("10.1.0.2") });
  expect(state.take({ position: "2" })).toEqual(new Set(["shop/db"]));
  expect(
    [...state.service("shop/db", "b").slices.values()].map(({ desired }) => desired.endpoints[0]!.address),
  ).toEqual(["10.1.0.2"]);
  expect(state.service("shop/web", "b").import).toBeDefined();
});

test("a stream that breaks off before its position changes nothing", () => {
  const state = stateWith(linesOf());
  state.begin();
  state.take({ start: "changes", formatVersion: 1 });
  state.take({ import: "shop/db", desired: null });
  state.begin();
  state.take({ start: "changes", formatVersion: 1 });
  state.take({ position: "3" });
  expect(state.service("shop/db", "b").import).toBeDefined();
});

test.each([
  ["a line before the start", [{ position: "1" }]],
  ["a second start", [START, START]],
  ["changes without a state before", [{ start: "changes", formatVersion: 1 }]],
] as const)("rejects %s", (_, lines) => {
  const state = new DesiredState(() => 0, 0);
  expect(() => {
    for (const line of lines) state.take(line);
  }).toThrow(DesiredStateError);
});

test("without news from the gateway, slices of a cluster go when its lease expires; the cluster's own stay (KEP-1645, Endpoint TTL)", () => {
  let now = 0;
  const state = stateWith(
    [...linesOf(), { service: "shop/db", cluster: "b", slice: "v4-0", desired: desiredSlice("10.2.0.1") }],
    { leases: { a: 30, b: 30 }, clock: () => now },
  );
  const clusters = () => [...state.service("shop/db", "b").slices.values()].map(({ cluster }) => cluster);
  expect(state.nextExpiry()).toBe(30_000);
  now = 29_999;
  expect(clusters()).toEqual(["a", "b"]);
  now = 30_000;
  expect(clusters()).toEqual(["b"]);
  expect(state.nextExpiry()).toBe(Number.POSITIVE_INFINITY);
  expect(state.take({ leases: { a: 30, b: 30 } })).toBe("all");
  expect(clusters()).toEqual(["a", "b"]);
});

test("what the state does not name may go if its cluster is live there, or its lease has expired", () => {
  let now = 0;
  const state = new DesiredState(() => now, 10_000);
  expect(state.mayRemove("shop/db", "a"), "before the first state").toBe(false);
  take(state, [], { b: 60 });
  expect(state.mayRemove("shop/db", "b"), "a live cluster").toBe(true);
  expect(state.mayRemove("shop/db", "a"), "an unknown cluster within the grace").toBe(false);
  now = 10_000;
  expect(state.mayRemove("shop/db", "a"), "an unknown cluster after the grace").toBe(true);
  take(state, [], { a: 60, b: 60 });
  take(state, [], { b: 60 });
  expect(state.mayRemove("shop/db", "a"), "a gateway that lost the cluster").toBe(false);
  now = 70_000;
  expect(state.mayRemove("shop/db", "a"), "after its last lease").toBe(true);
});

test("a new stream's silence is no knowledge until it names leases; what stayed for that is looked at again", () => {
  const state = stateWith(linesOf());
  state.begin();
  for (const line of [START, { position: "q" }] as const) state.take(line);
  expect(state.service("shop/db", "b").import).toBeUndefined();
  expect(state.mayRemove("shop/db", "a")).toBe(false);
  expect(state.take({ leases: { a: 60, b: 60 } })).toBe("all");
  expect(state.mayRemove("shop/db", "a")).toBe(true);
  expect(state.take({ leases: { a: 60, b: 60 } })).toBeUndefined();
});

test("what the gateway removes by a line of its own may go at once, whatever it knows of the cluster", () => {
  const state = stateWith(linesOf(), { leases: { b: 60 }, grace: 1000 });
  expect(state.mayRemove("shop/db", "a")).toBe(false);
  state.begin();
  for (const line of [
    { start: "changes", formatVersion: 1 },
    { service: "shop/db", cluster: "a", slice: "v4-0", desired: null },
    { position: "2" },
  ] as const)
    state.take(line);
  expect(state.mayRemove("shop/db", "a")).toBe(true);
  expect(state.mayRemove("shop/web", "a")).toBe(false);
  state.take({ import: "shop/web", desired: null });
  state.take({ position: "3" });
  expect(state.mayRemove("shop/web", "a")).toBe(true);
  state.settled("shop/web");
  expect(state.mayRemove("shop/web", "a")).toBe(false);
  take(state, linesOf(), { b: 60 });
  expect(state.mayRemove("shop/db", "a"), "after a snapshot").toBe(false);
});
