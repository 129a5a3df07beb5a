import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeldCluster } from "../../../src/gateway/leases/held-cluster.ts";
import { measureInSteps, NO_TOTALS, totalsAfter } from "../../../src/gateway/pushing/snapshot-bounds.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { packDelta, type SnapshotDelta } from "../../../src/snapshot/entry-changes.ts";
import type { HeldState } from "../../../src/snapshot/lines/held-state.ts";
import { COLLECTIONS } from "../../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { changesBetween } from "../../snapshot/changes.ts";
import { emptySnapshot, headlessExport, snapshots } from "../../snapshot/worlds.ts";

const META = { generation: 1, pushedAt: 0, renewedAt: 0, expiresAt: 1 };
const port = (name: string) => ({ name, protocol: "TCP", port: 80 });

function held(snapshot: ClusterSnapshot): HeldState {
  return HeldCluster.of(snapshot, META).state;
}

function totalsOf(snapshot: ClusterSnapshot) {
  return drain(measureInSteps(held(snapshot)));
}

/** How many steps something takes. */
function stepsOf(steps: Iterator<void>): number {
  let count = 1;
  while (!steps.next().done) count++;
  return count;
}

/** How many steps counting takes after a change of what a snapshot has. */
function stepsAfter(snapshot: ClusterSnapshot, delta: SnapshotDelta): number {
  return stepsOf(totalsAfter(totalsOf(snapshot), held(snapshot), delta, drain(packDelta(delta))));
}

function namespaces(count: number): ClusterSnapshot {
  const names = Array.from({ length: count }, (_, index) => [`n${index}`, {}]);
  return { ...emptySnapshot("west"), namespaces: Object.fromEntries(names) };
}

test("a snapshot counts the ports of its exports, of those on nodes, and those of each endpoint", () => {
  const snapshot: ClusterSnapshot = {
    ...emptySnapshot("west"),
    exports: {
      "shop/web": {
        ...headlessExport(3),
        exportedLabels: { app: "web" },
        exportedAnnotations: { k: "" },
        nodes: { ports: [port("a"), port("b")], addresses: {} } as never,
      },
    },
    pods: { "shop/10.0.0.1": {} },
  };
  const characters = JSON.stringify(snapshot).length - JSON.stringify(emptySnapshot("west")).length;
  expect(totalsOf(snapshot)).toEqual({
    ...NO_TOTALS,
    ...{ exports: 1, pods: 1, endpoints: 3, ports: 1 + 2 + 3, metadataCharacters: 3 + 3 + 1 },
    // Each entry counts a comma, which the last one of a table does not have.
    characters: characters + 2,
  });
});

test("the characters of a snapshot are those of its JSON, and a comma for each table that has entries", () => {
  fc.assert(
    fc.property(snapshots, (snapshot) => {
      const cluster = HeldCluster.of(snapshot, META);
      const tables = COLLECTIONS.filter((collection) => Object.keys(snapshot[collection]).length > 0);
      const shell = JSON.stringify(cluster.shell({ singles: {} })).length;
      expect(shell + totalsOf(snapshot).characters - tables.length).toBe(JSON.stringify(snapshot).length);
    }),
  );
});

test("a cluster's totals after any changes are those of counting all that it has then", () => {
  fc.assert(
    fc.property(snapshots, fc.array(snapshots, { minLength: 1, maxLength: 4 }), (first, later) => {
      const cluster = HeldCluster.of(first, META);
      for (const snapshot of later) {
        const measured = drain(cluster.measure(changesBetween(cluster.state, snapshot)));
        expect(measured.totals).toEqual(totalsOf(snapshot));
        drain(cluster.apply(measured));
      }
    }),
  );
});

describe("counting", () => {
  const long = { ...emptySnapshot("west"), exports: { "shop/web": headlessExport(2000) } };
  const { exports } = long;

  test("ends a step after 16 short entries", () => {
    expect(stepsOf(measureInSteps(held(namespaces(15))))).toBe(1);
    expect(stepsOf(measureInSteps(held(namespaces(16))))).toBe(2);
    expect(stepsOf(measureInSteps(held(namespaces(40))))).toBe(3);
  });

  test("ends a step after each long entry", () => {
    expect(stepsOf(measureInSteps(held(long)))).toBe(2);
    const three = { ...exports, "shop/a": exports["shop/web"]!, "shop/b": exports["shop/web"]! };
    expect(stepsOf(measureInSteps(held({ ...long, exports: three })))).toBe(4);
  });

  test.each([
    [15, 1],
    [16, 2],
    [17, 2],
    [40, 3],
  ])("a change of %i short entries ends a step after 16 of them", (count, steps) => {
    const change = changesBetween(held(emptySnapshot("west")), namespaces(count));
    expect(stepsAfter(emptySnapshot("west"), change)).toBe(steps);
    const back = changesBetween(held(namespaces(count)), emptySnapshot("west"));
    expect(stepsAfter(namespaces(count), back)).toBe(steps);
  });

  test("a change ends a step after each long entry that comes, and after each that goes", () => {
    const key = { collection: "exports", key: "shop/web" } as const;
    const coming = { entries: [{ ...key, entry: exports["shop/web"]! }], singles: {} };
    const going = { entries: [{ ...key, entry: undefined }], singles: {} };
    expect(stepsAfter(emptySnapshot("west"), coming)).toBe(2);
    expect(stepsAfter(long, going)).toBe(2);
    expect(stepsAfter(long, coming)).toBe(3);
  });
});
