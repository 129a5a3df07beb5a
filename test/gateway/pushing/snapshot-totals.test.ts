import fc from "fast-check";
import { expect, test } from "vitest";
import { HeldCluster } from "../../../src/gateway/leases/held-cluster.ts";
import { measureInSteps, NO_TOTALS } from "../../../src/gateway/pushing/snapshot-bounds.ts";
import { drain } from "../../../src/snapshot/drain.ts";
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
