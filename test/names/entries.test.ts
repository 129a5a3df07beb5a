import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Kind, localKey } from "../../src/database/places.ts";
import { Reader } from "../../src/database/reader.ts";
import { Writer } from "../../src/database/writer.ts";
import { nameOf, namespaceOf } from "../../src/merge/order.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import { DatabaseEntries } from "../../src/names/database-entries.ts";
import { keysOfPod } from "../../src/names/entries.ts";
import { SnapshotRows } from "../../src/names/snapshot-rows.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { DRIVERS } from "../database/databases.ts";
import { push, wholeLines } from "../database/pushing.ts";
import { snapshot } from "../merge/fixtures.ts";
import { expectMet } from "../property-share.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { entriesOf, type Ranked } from "./entries-of.ts";

const VISIBILITIES: readonly Visibility[] = [
  {},
  { namespaces: ["shop"] },
  { clusters: ["east", "west"] },
  { addressSources: ["Endpoint", "ClusterIP"] },
  { addressRanges: ["10.0.0.0/8"], targets: ["example.com"] },
];

const listed = (keys: Iterable<string>) => [...new Set(keys)].sort();

/** All that can be read of some snapshots' keys. */
function readAll(entries: DatabaseEntries, snapshots: readonly ClusterSnapshot[]): unknown {
  const keys = new Set<string>();
  const labels = new Set<string>();
  const namespaces = new Set<string>();
  for (const { exports, imports, services, pods, namespaces: own } of snapshots) {
    for (const key of [...Object.keys(exports), ...Object.keys(imports)]) keys.add(key);
    for (const [key, service] of Object.entries(services)) labels.add(localKey(key, service));
    for (const pod of Object.keys(pods)) for (const key of keysOfPod(pod)) labels.add(key);
    for (const namespace of Object.keys(own)) namespaces.add(namespace);
  }
  const clusters = entries.clusters();
  const own = clusters.map(({ clusterId }) => [
    clusterId,
    [...namespaces, "nothing"].filter((namespace) => entries.hasNamespace(clusterId, namespace)),
    [undefined, ...namespaces].map((namespace) => listed(entries.keysOf(clusterId, Kind.service, namespace))),
    listed(entries.podKeys(clusterId)),
    [...labels].map((key) => [
      key,
      [...entries.localServices(clusterId, namespaceOf(key), nameOf(key))].sort(),
      [...entries.localPods(clusterId, namespaceOf(key), nameOf(key))].sort(),
    ]),
  ]);
  const services = [...keys].map((key) => [key, entries.service(namespaceOf(key), nameOf(key))]);
  const all = [undefined, ...namespaces].map((namespace) => listed(entries.serviceKeys(namespace)));
  return { clusters, own, services, all };
}

describe("rows in a database", () => {
  it("are the entries of the snapshots that were pushed, in every scope", () => {
    let services = 0;
    fc.assert(
      fc.property(
        arbitraryWorld,
        fc.constantFrom(...DRIVERS),
        fc.constantFrom(...VISIBILITIES),
        (snapshots, [, open], visibility) => {
          const database = open();
          const writer = new Writer(database, () => {});
          for (const snapshot of snapshots) push(writer, snapshot.clusterId, "whole", wholeLines(snapshot));
          const reader = new Reader(database, () => expect.unreachable());
          const ranked: Ranked = (clusterId, kind, name) => reader.entry(clusterId, kind, name)?.counts;
          const live = snapshots.map(({ clusterId }) => clusterId);
          const rows = new DatabaseEntries(reader, live, createEntryFilter(visibility));
          expect(readAll(rows, snapshots)).toEqual(
            readAll(entriesOf(snapshots, visibility, ranked), snapshots),
          );
          services += snapshots.reduce((sum, { exports }) => sum + Object.keys(exports).length, 0);
          database.close();
        },
      ),
      { numRuns: 200 },
    );
    expectMet(services, 400);
  });
});

it("reads pods of one cluster from its own row, whatever others have in the same one", () => {
  const pods = { "data/10.9.0.1": {} };
  const rows = new SnapshotRows(
    ["east", "west"].map((id) => snapshot(id, { namespaces: { data: {} }, pods })),
  );
  const read: string[] = [];
  rows.rowsOf = (key) => expect.unreachable(`reads ${key} of all clusters`);
  const entry = rows.entry.bind(rows);
  rows.entry = (cluster, kind, name) => {
    read.push(cluster);
    return entry(cluster, kind, name);
  };
  const entries = new DatabaseEntries(rows, ["east", "west"]);
  expect(entries.localPods("west", "data", "10-9-0-1")).toEqual(["data/10.9.0.1"]);
  expect(read).toEqual(["west"]);
});
