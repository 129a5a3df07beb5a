import fc from "fast-check";
import { expect, test } from "vitest";
import { HeldCluster } from "../../../src/gateway/leases/held-cluster.ts";
import { measureInSteps } from "../../../src/gateway/pushing/snapshot-bounds.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { HeldState } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { changesBetween } from "../../snapshot/changes.ts";
import { snapshots } from "../../snapshot/worlds.ts";

const META = { generation: 1, pushedAt: 0, renewedAt: 0, expiresAt: 1 };
function held(snapshot: ClusterSnapshot): HeldState {
  return HeldCluster.of(snapshot, META).state;
}

function totalsOf(snapshot: ClusterSnapshot) {
  return drain(measureInSteps(held(snapshot)));
}

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
