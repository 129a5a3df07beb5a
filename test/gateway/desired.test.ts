import { describe, expect, it } from "vitest";
import { findingsKeyOf } from "../../src/database/places.ts";
import { finish } from "../../src/dns/steps.ts";
import { DesiredFeed, RecentChanges } from "../../src/gateway/desired.ts";
import { KeptLines, type ServiceLines } from "../../src/gateway/desired-lines.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { DesiredLine } from "../../src/snapshot/desired-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, snapshot } from "../merge/fixtures.ts";
import { entriesOf } from "../names/entries-of.ts";
import { keysOf } from "../names/keys-of.ts";
import { aboutLine } from "./about-line.ts";

/** A feed of the clusters "a" and "b" over snapshots. */
function openFeed() {
  const snapshots = new Map<string, ClusterSnapshot>();
  const errors: unknown[] = [];
  const failing = new Set<string>();
  /** Exporters of services that were derived. */
  const derived: string[] = [];
  const feed = new DesiredFeed({
    world: () => new KeyWorld(entriesOf([...snapshots.values()]), {}, {}, new Map()),
    clusters: new Set(["a", "b"]),
    reachOf: (clusterId) => {
      if (failing.has(clusterId)) throw new Error(`cannot derive ${clusterId}`);
      derived.push(clusterId);
      return "pods";
    },
    expiresAt: () => undefined,
    onError: (error) => errors.push(error),
  });
  const join = (...joining: readonly ClusterSnapshot[]) => {
    for (const one of joining) {
      const before = snapshots.get(one.clusterId);
      snapshots.set(one.clusterId, one);
      if (before === undefined) feed.clusterChanged(one.clusterId);
      else feed.changed(one.clusterId, [...new Set([...keysOf(before), ...keysOf(one)])]);
    }
  };
  /** What the lines of a new stream, or the next lines of an open one, are about. */
  const read = (cursor: ReturnType<typeof feed.open> = feed.open("a", undefined)) =>
    finish(cursor.read(1e9, () => false))
      .text.split("\n")
      .slice(0, -1)
      .map((text) => aboutLine(DesiredLine.parse(JSON.parse(text))));
  return { feed, errors, failing, derived, join, read };
}

const pods = endpoints({ address: "10.0.0.1" });
const web = (clusterId: string) => exporting(clusterId, { endpoints: pods });
describe("a stream", () => {
  it("goes on with the lines that it has of a service that cannot be derived; a new one fails", () => {
    const { join, read, errors, failing, feed } = openFeed();
    join(web("a"), web("c"));
    const stream = feed.open("a", undefined);
    const before = ["import shop/web", "slice shop/web a", "slice shop/web c"];
    expect(read(stream)).toEqual(expect.arrayContaining(before));
    failing.add("c");
    join(snapshot("a", { exports: { "shop/db": exported() } }));
    expect(read(stream)).toEqual(["import shop/db", "export shop/db", "position"]);
    expect(errors.map(String)).toEqual(["Error: cannot derive c"]);
    expect(() => read()).toThrow("cannot derive c");
  });

  it("looks at one service in a step, also where it has nothing to send of it", () => {
    const { join, read, feed } = openFeed();
    const services = Array.from({ length: 20 }, (_, index) => `shop/web-${index}`);
    const all = () =>
      snapshot("a", { exports: Object.fromEntries(services.map((key) => [key, exported()])) });
    join(all());
    const stream = feed.open("a", undefined);
    read(stream);
    join(all());
    const steps = [...stream.read(1e9, () => false)];
    expect(steps.length).toBeGreaterThanOrEqual(services.length);
    expect(stream.isIdle).toBe(true);
  });

  it("has what another one derived of a service, until the service, or what it depends on, changes", () => {
    const { join, read, feed, derived } = openFeed();
    join(web("a"), web("b"), web("c"));
    read(feed.open("a", undefined));
    const first = derived.length;
    expect(first).toBeGreaterThan(0);
    read(feed.open("b", undefined));
    expect(derived.length).toBe(first);
    join(exporting("c", { endpoints: endpoints({ address: "10.0.0.2" }) }));
    expect(read(feed.open("b", undefined))).toContain("slice shop/web c");
    expect(derived.length).toBeGreaterThan(first);
  });

  it("keeps no name of an export that is not valid longer than lines of it", () => {
    const { join, read, feed } = openFeed();
    const about = { kind: "ServiceExport", reason: "NoService", message: "none" } as const;
    const invalid = (namespace: string, name: string) =>
      snapshot("a", {
        findings: { [`ServiceExport/${namespace}/${name}/NoService`]: { ...about, namespace, name } },
      });
    const names = ["1", "2", "3"];
    const rows = new Set(names.map((name) => `a ${findingsKeyOf(`elsewhere/${name}`)}`));
    for (const name of names) {
      join(invalid("elsewhere", name));
      expect([...rows].flatMap((row) => [...feed.keysOf("a", row)])).toEqual([`elsewhere/${name}`]);
    }
    join(invalid("shop", "web"));
    const stream = feed.open("a", undefined);
    expect(read(stream)).toContain("export shop/web");
    join(snapshot("a"));
    expect(read(stream)).toContain("export shop/web none");
  });
});

it("lines that are gone are forgotten once there are too many, the oldest first", () => {
  const lines = (name: string, text: string): ServiceLines =>
    new Map([[name, { text, readers: new Set(["west"]) }]]);
  const NONE: ServiceLines = new Map();
  const kept = new KeptLines(2);
  for (const [index, key] of ["a/1", "a/2", "a/3"].entries()) kept.take(key, lines("import", "x"), index + 1);
  expect(kept.forgotten).toBe(0);
  kept.take("a/1", NONE, 11);
  kept.take("a/2", NONE, 12);
  expect([kept.forgotten, [...kept.keysIn("a")]]).toEqual([0, ["a/1", "a/2", "a/3"]]);
  const other = lines("export west", "y");
  kept.take("a/3", other, 13);
  expect([kept.forgotten, [...kept.keysIn("a")]]).toEqual([11, ["a/2", "a/3"]]);
  expect([...kept.changes("a/3", other, "west", 12, false)].sort()).toEqual([
    "y",
    `${JSON.stringify({ import: "a/3", desired: null })}\n`,
  ]);
  // One that is there again is not counted among them.
  kept.take("a/2", lines("import", "x"), 14);
  kept.take("a/4", lines("import", "x"), 15);
  kept.take("a/4", NONE, 16);
  expect(kept.forgotten).toBe(11);
});

it("recent changes are those of the things that changed last", () => {
  const changes = new RecentChanges(2);
  changes.note("a", 1);
  changes.note("b", 2);
  changes.note("a", 3);
  expect([[...changes.since(0)], changes.forgotten]).toEqual([["b", "a"], 0]);
  changes.note("c", 4);
  expect([[...changes.since(0)], changes.forgotten]).toEqual([["a", "c"], 2]);
  expect(changes.hasChanged("a", 2)).toBe(true);
  expect(changes.hasChanged("a", 3)).toBe(false);
  expect(changes.hasChanged("b", 0)).toBe(false);
});
