import { expect, test } from "vitest";
import { mark } from "../../src/control/objects/wanted-object.ts";
import { ClusterObjects } from "../../src/control/reconcile/cluster-objects.ts";

const objects = () => new ClusterObjects(() => undefined);
const imported = (uid: string, version: number, more: object = {}) =>
  mark({
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "db", uid, resourceVersion: String(version), ...more },
  }) as never;
const slice = (uid: string, version: number) =>
  mark({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...{ namespace: "shop", name: "db-1", uid, resourceVersion: String(version) },
      labels: { "multicluster.kubernetes.io/service-name": "db" },
    },
  }) as never;
const versionOf = (held: ClusterObjects) => held.of("shop/db").import?.metadata.resourceVersion;

test("an event from before a write does not replace what the write returned", () => {
  const held = objects();
  held.upsert(imported("one", 7));
  held.upsert(imported("one", 5));
  expect(versionOf(held)).toBe("7");
});

test.each([
  ["ServiceImport", imported, (held: ClusterObjects) => held.of("shop/db").import],
  ["EndpointSlice", slice, (held: ClusterObjects) => held.of("shop/db").slices[0]],
] as const)("a deleted %s is gone, although the watch had reported an older version last", (_, make, of) => {
  const held = objects();
  held.upsert(make("one", 7));
  held.delete(make("one", 5));
  expect(of(held)).toBeUndefined();
});

test.each([
  ["ServiceImport", imported, (held: ClusterObjects) => held.of("shop/db").import],
  ["EndpointSlice", slice, (held: ClusterObjects) => held.of("shop/db").slices[0]],
] as const)("the deletion of an earlier %s leaves the one that was made since", (_, make, of) => {
  const held = objects();
  held.upsert(make("one", 5));
  held.removed(make("one", 5));
  held.upsert(make("two", 8));
  held.delete(make("one", 7));
  expect(of(held)?.metadata.uid).toBe("two");
  held.upsert(make("one", 6));
  expect(of(held)?.metadata.uid).toBe("two");
});

test("what was removed does not come back by an event from before, and does as long as a finalizer keeps it", () => {
  const held = objects();
  held.upsert(imported("one", 5));
  held.removed(imported("one", 5));
  held.upsert(imported("one", 6));
  expect(versionOf(held)).toBeUndefined();
  held.upsert(imported("one", 7, { deletionTimestamp: "2030-01-01T00:00:00Z" }));
  expect(versionOf(held)).toBe("7");
});
