import { describe, expect, it } from "vitest";
import { firstExpiry, HeldCluster, leaseExpiry } from "../../../src/gateway/leases/held-cluster.ts";
import { LeaseTables } from "../../../src/gateway/leases/lease-tables.ts";
import { LiveClusters } from "../../../src/gateway/leases/live-clusters.ts";
import type { Leased } from "../../../src/resolve/leases.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { exporting } from "../../merge/fixtures.ts";

const META = { generation: 7, pushedAt: 1000, renewedAt: 2000, expiresAt: 10_000 };
const cluster = (clusterId: string, meta: Partial<typeof META> = {}) =>
  HeldCluster.of(exporting(clusterId), { ...META, ...meta });
const COUNTS = { exports: 3, imports: 1 };
const open = (mostLapsed = 2) => new LiveClusters(mostLapsed, 0, () => COUNTS);
const idsOf = (clusters: LiveClusters) =>
  clusters.statuses(clusters.live).map(({ clusterId, live }) => [clusterId, live]);

describe("no name may be denied", () => {
  it("before a cluster has pushed, and while all that pushed have died", () => {
    const clusters = open();
    expect(clusters.unknown).toBe(true);
    clusters.set(cluster("west"));
    expect(clusters.unknown).toBe(false);
    clusters.takeExpired(10_000);
    expect([clusters.unknown, clusters.hasLapsed]).toEqual([true, true]);
    clusters.set(cluster("west"));
    expect([clusters.unknown, clusters.hasLapsed]).toEqual([false, false]);
  });

  it("but after the last one left, and not because an unknown one did", () => {
    const clusters = open();
    expect(clusters.leave("west")).toBe(false);
    expect(clusters.unknown).toBe(true);
    clusters.set(cluster("west"));
    clusters.set(cluster("east", { expiresAt: 9000 }));
    expect(clusters.leave("west")).toBe(true);
    expect(clusters.unknown).toBe(false);
    clusters.takeExpired(9000);
    // East died: it may have names that nobody knows now.
    expect(clusters.unknown).toBe(true);
    expect(clusters.leave("east")).toBe(true);
    expect([clusters.unknown, clusters.hasLapsed]).toEqual([false, false]);
  });
});

describe("a cluster whose lease runs", () => {
  it("is not live by its status as long as it is not in the answers", () => {
    const clusters = open();
    clusters.set(cluster("east"));
    clusters.set(cluster("west"));
    const live = clusters.statuses(new Map([["west", {}]])).map((status) => [status.clusterId, status.live]);
    expect(live).toEqual([
      ["east", false],
      ["west", true],
    ]);
  });
});

describe("what answers depend on of a cluster", () => {
  it("is the same object until something of it changes", () => {
    let counts = COUNTS;
    const clusters = new LiveClusters(2, 0, () => counts);
    const west = cluster("west");
    clusters.set(west);
    clusters.set(cluster("east"));
    const terms = () => clusters.terms(clusters.live);
    const first = terms();
    expect(first.get("west")).toEqual({ expiresAt: META.expiresAt, status: west.status(true, COUNTS) });
    const isSame = () => ["west", "east"].map((id) => terms().get(id) === first.get(id));
    expect(isSame()).toEqual([true, true]);
    west.meta = { ...META, expiresAt: 20_000 };
    expect(isSame()).toEqual([false, true]);
    counts = { ...COUNTS, imports: 2 };
    expect(terms().get("east")?.status.imports).toBe(2);
    expect(clusters.terms(new Map()).get("east")?.status.live).toBe(false);
  });

  it("has no end of a lease once that has expired, and is then the same object for ever", () => {
    const clusters = open();
    clusters.set(cluster("west"));
    clusters.takeExpired(META.expiresAt);
    const west = clusters.terms(clusters.live).get("west");
    expect([west?.expiresAt, west?.status.live]).toEqual([undefined, false]);
    expect(clusters.terms(clusters.live).get("west")).toBe(west);
  });
});

describe("a cluster whose lease expired", () => {
  it("is taken out at that time, and not before; the status says that it is not live", () => {
    const clusters = open();
    const [east, west] = [cluster("east", { expiresAt: 20_000 }), cluster("west")];
    clusters.set(west);
    clusters.set(east);
    expect(clusters.nextExpiry).toBe(10_000);
    expect(clusters.takeExpired(9_999)).toEqual([]);
    expect(clusters.takeExpired(10_000)).toEqual([west]);
    expect(clusters.nextExpiry).toBe(20_000);
    expect(clusters.statuses(clusters.live)).toEqual([
      { clusterId: "east", ...META, expiresAt: 20_000, live: true, ...COUNTS },
      { clusterId: "west", ...META, live: false, ...COUNTS },
    ]);
    expect([clusters.has("west"), clusters.expiresAt("west"), clusters.expiresAt("east")]).toEqual([
      ...[true, undefined, 20_000],
    ]);
    expect(clusters.takeExpired(20_000)).toEqual([east]);
    expect(clusters.nextExpiry).toBe(Number.POSITIVE_INFINITY);
  });

  it("is remembered with the others that died last, and its generation as a bound after that", () => {
    const clusters = open(2);
    for (const [index, id] of ["d", "c", "b", "a"].entries())
      clusters.set(cluster(id, { generation: 10 + index, expiresAt: 1000 * (index + 1) }));
    for (const now of [1000, 2000]) clusters.takeExpired(now);
    expect(clusters.generationOf("d")).toBe(10);
    expect(clusters.generationOf("unknown")).toBe(0);
    clusters.takeExpired(3000);
    expect(idsOf(clusters)).toEqual([
      ["a", true],
      ["b", false],
      ["c", false],
    ]);
    expect(clusters.has("d")).toBe(false);
    expect([clusters.generationOf("d"), clusters.generationOf("unknown")]).toEqual([10, 10]);
    expect(clusters.generationOf("b")).toBe(12);
    clusters.leave("a");
    expect(clusters.generationOf("a")).toBe(13);
    clusters.leave("b");
    expect(clusters.generationOf("d")).toBe(13);
  });

  it("takes the room of older ones where several expire at once", () => {
    const clusters = open(1);
    for (const id of ["a", "b", "c"]) clusters.set(cluster(id));
    expect(clusters.takeExpired(10_000).map(({ clusterId }) => clusterId)).toEqual(["a", "b", "c"]);
    expect(idsOf(clusters)).toEqual([["c", false]]);
  });
});

describe("when the leases of records expire", () => {
  const expiresAt = (clusterId: string) => ({ east: 5000, west: 3000 })[clusterId];

  it("is when the first of a group does; a cluster that is not held has expired", () => {
    const groups = [[], ["east"], ["east", "west"], ["west", "gone"]];
    expect([...leaseExpiry(groups, expiresAt)]).toEqual([Number.POSITIVE_INFINITY, 5000, 3000, 0]);
    expect(firstExpiry(new Map())).toBe(Number.POSITIVE_INFINITY);
    const held = new Map(
      [4000, 2000, 3000].map((at) => [`${at}`, cluster(`${at}`, { expiresAt: at })] as const),
    );
    expect(firstExpiry(held)).toBe(2000);
  });

  it("is computed once for each segment, until leases change", () => {
    let asked = 0;
    const count = (clusterId: string) => {
      asked++;
      return expiresAt(clusterId);
    };
    const [one, other] = [new LeaseTables(count), new LeaseTables(count)];
    const segment = { leaseGroups: [["east"]], leaseMemo: undefined } as unknown as Leased;
    const table = one.of(segment);
    expect([...table]).toEqual([5000]);
    expect(one.of(segment)).toBe(table);
    expect(other.of(segment)).not.toBe(table);
    expect(one.of(segment)).toBe(table);
    expect(asked).toBe(2);
  });
});

describe("a cluster of which nothing is known", () => {
  it("holds nothing until the first change, and counts that from then on", () => {
    const empty = HeldCluster.empty("west");
    expect(empty.meta).toEqual({ generation: 0, pushedAt: 0, renewedAt: 0, expiresAt: 0 });
    const totals = drain(empty.count());
    expect(drain(empty.count())).toBe(totals);
    expect(empty.shell({ singles: {} })).toMatchObject({ clusterId: "west", exports: {} });
    const before = empty.state;
    drain(
      empty.apply(drain(empty.measure({ entries: [], singles: { topology: { region: "eu" } } } as never))),
    );
    expect(empty.state).not.toBe(before);
    expect(empty.shell({ singles: {} })).toMatchObject({ topology: { region: "eu" } });
    expect(empty.shell({ singles: { topology: { region: "us" } } } as never)).toMatchObject({
      topology: { region: "us" },
    });
  });
});
