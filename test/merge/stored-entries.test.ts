import { expect, it } from "vitest";
import { ServiceIndex } from "../../src/merge/index/service-index.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { type HeldDelta, packDelta } from "../../src/snapshot/entry-changes.ts";
import { type HeldState, heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { exported, snapshot } from "./fixtures.ts";

const KEY = "shop/web";

/** An index with a cluster whose entries are stored elsewhere; `store` has others from then on. */
function storedCluster() {
  let stored = withPort(1);
  const state: HeldState = {
    isStored: true,
    entry: (collection, key) => heldSnapshot(stored).entry(collection, key),
    packed: (collection, key) => heldSnapshot(stored).packed(collection, key),
    has: (collection, key) => heldSnapshot(stored).has(collection, key),
    keys: (collection) => heldSnapshot(stored).keys(collection),
    single: (name) => heldSnapshot(stored).single(name),
  };
  // Nothing stays unpacked.
  const index = new ServiceIndex(undefined, 0);
  drain(index.join("east", state));
  return {
    index,
    store: (next: ClusterSnapshot) => {
      stored = next;
    },
    /** The port of the export that the index has; undefined where it has none. */
    port: () => index.contributions(KEY)[0]?.exported?.ports[0]?.port,
  };
}

function withPort(port: number | undefined): ClusterSnapshot {
  return snapshot("east", { exports: port === undefined ? {} : { [KEY]: exportOf(port) } });
}

const exportOf = (port: number) => exported({ ports: [{ name: "http", protocol: "TCP", port }] });

function changeTo(port: number | undefined): HeldDelta {
  const entry = port === undefined ? undefined : exportOf(port);
  return drain(packDelta({ entries: [{ collection: "exports", key: KEY, entry }], singles: {} }));
}

it("reads an entry when it is merged", () => {
  const { store, port } = storedCluster();
  expect(port()).toBe(1);
  store(withPort(2));
  expect(port()).toBe(2);
});

it.each([2, undefined])(
  "reads what was there before a change to port %s is stored, until it has the change",
  (next) => {
    const { index, store, port } = storedCluster();
    const change = changeTo(next);
    drain(index.retain("east", change));
    store(withPort(next));
    expect(port()).toBe(1);
    drain(index.change("east", change));
    expect(port()).toBe(next);
  },
);

it("has one change after the other, although the store has both", () => {
  const { index, store, port } = storedCluster();
  const [first, second] = [changeTo(2), changeTo(3)];
  drain(index.retain("east", first));
  store(withPort(2));
  drain(index.retain("east", second));
  store(withPort(3));
  expect(port()).toBe(1);
  drain(index.change("east", first));
  expect(port()).toBe(2);
  drain(index.change("east", second));
  expect(port()).toBe(3);
  store(withPort(4));
  expect(port()).toBe(4);
});

it("has the entry that comes with a change to a service without one", () => {
  const { index, store, port } = storedCluster();
  const [gone, back] = [changeTo(undefined), changeTo(5)];
  for (const [change, next] of [
    [gone, undefined],
    [back, 5],
  ] as const) {
    drain(index.retain("east", change));
    store(withPort(next));
    drain(index.change("east", change));
    expect(port()).toBe(next);
  }
});

it("reads what is stored again where a change is not stored after all", () => {
  const { index, store, port } = storedCluster();
  drain(index.retain("east", changeTo(2)));
  index.release("east", changeTo(2));
  store(withPort(3));
  expect(port()).toBe(3);
});

it("has no part where nothing is stored any more, because the cluster is about to leave", () => {
  const { index, store } = storedCluster();
  store(withPort(undefined));
  expect(index.contributions(KEY)).toEqual([]);
  drain(index.leave("east"));
  expect([...index.keys()]).toEqual([]);
});
