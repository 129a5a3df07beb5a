import { describe, expect, test } from "vitest";
import { mark } from "../../src/control/objects/wanted-object.ts";
import { ClusterObjects } from "../../src/control/reconcile/cluster-objects.ts";

const objects = (touched: string[] = []) => new ClusterObjects((key) => touched.push(key));
const imported = (uid: string, version: number, more: object = {}) =>
  mark({
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "db", uid, resourceVersion: String(version), ...more },
  });
const slice = (uid: string, version: number) =>
  mark({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...{ namespace: "shop", name: "db-1", uid, resourceVersion: String(version) },
      labels: { "multicluster.kubernetes.io/service-name": "db" },
    },
  });
const versionOf = (held: ClusterObjects) => held.of("shop/db").import?.metadata.resourceVersion;

test("an event from before a write does not replace what the write returned", () => {
  const held = objects();
  held.upsert(imported("one", 7) as never);
  held.upsert(imported("one", 5) as never);
  expect(versionOf(held)).toBe("7");
});

test.each([
  ["ServiceImport", imported, (held: ClusterObjects) => held.of("shop/db").import],
  ["EndpointSlice", slice, (held: ClusterObjects) => held.of("shop/db").slices[0]],
] as const)("a deleted %s is gone, although the watch had reported an older version last", (_, make, of) => {
  const held = objects();
  held.upsert(make("one", 7) as never);
  held.delete(make("one", 5) as never);
  expect(of(held)).toBeUndefined();
});

test.each([
  ["ServiceImport", imported, (held: ClusterObjects) => held.of("shop/db").import],
  ["EndpointSlice", slice, (held: ClusterObjects) => held.of("shop/db").slices[0]],
] as const)("the deletion of an earlier %s leaves the one that was made since", (_, make, of) => {
  const held = objects();
  held.upsert(make("one", 5) as never);
  held.removed(make("one", 5));
  held.upsert(make("two", 8) as never);
  held.delete(make("one", 7) as never);
  expect(of(held)?.metadata.uid).toBe("two");
  held.upsert(make("one", 6) as never);
  expect(of(held)?.metadata.uid).toBe("two");
});

test("what was removed does not come back by an event from before, and does as long as a finalizer keeps it", () => {
  const held = objects();
  held.upsert(imported("one", 5) as never);
  held.removed(imported("one", 5));
  held.upsert(imported("one", 6) as never);
  expect(versionOf(held)).toBeUndefined();
  held.upsert(imported("one", 7, { deletionTimestamp: "2030-01-01T00:00:00Z" }) as never);
  expect(versionOf(held)).toBe("7");
});

describe("what watches report while an object is written", () => {
  /** Writes version 7, of which the watch reports `events` before the answer is there. */
  const written = async (events: (held: ClusterObjects) => void) => {
    const touched: string[] = [];
    const held = objects(touched);
    await held.written(imported("one", 0), async () => {
      events(held);
      return imported("one", 7);
    });
    return { held, touched };
  };

  test("touches its key no more than the write itself, before the answer or after it", async () => {
    const { held, touched } = await written((before) => before.upsert(imported("one", 7) as never));
    held.upsert(imported("one", 7) as never);
    expect(touched).toEqual([]);
    expect(versionOf(held)).toBe("7");
  });

  test("touches its key and stays if it is newer", async () => {
    const { held, touched } = await written((before) => before.upsert(imported("one", 8) as never));
    expect(touched).toEqual(["shop/db"]);
    expect(versionOf(held)).toBe("8");
  });

  test("touches its key and removes the object that was written, but not for an earlier one", async () => {
    const { held, touched } = await written((before) => before.delete(imported("one", 8) as never));
    expect(touched).toEqual(["shop/db"]);
    expect(versionOf(held)).toBeUndefined();
    const earlier = await written((before) => before.delete(imported("zero", 6) as never));
    expect(versionOf(earlier.held)).toBe("7");
  });
});
