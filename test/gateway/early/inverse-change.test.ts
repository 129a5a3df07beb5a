import fc from "fast-check";
import { expect, test } from "vitest";
import { HeldCluster } from "../../../src/gateway/leases/held-cluster.ts";
import { inverseOf } from "../../../src/gateway/pushing/inverse-change.ts";
import { type JudgedKey, keysToJudge } from "../../../src/gateway/remembered/judged-keys.ts";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { type HeldState, heldSnapshot, snapshotOf } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { expectMet } from "../../property-share.ts";
import { changesBetween } from "../../snapshot/changes.ts";
import { arbitraryEndpointGroups, arbitraryImport, arbitrarySnapshot } from "../../worlds/arbitrary.ts";

const META = { generation: 1, pushedAt: 0, renewedAt: 0, expiresAt: 1 };

/** Two snapshots of a cluster; half of the pairs have the same exports, imports and namespaces, with other content. */
const pair = fc
  .record({
    from: arbitrarySnapshot(fc.constant("west")),
    to: arbitrarySnapshot(fc.constant("west")),
    isWhole: fc.boolean(),
    endpoints: arbitraryEndpointGroups,
    imported: arbitraryImport,
    managed: fc.constantFrom({}, { managed: true as const }),
  })
  .map(({ from, to, isWhole, endpoints, imported, managed }) => {
    if (isWhole) return [from, to] as const;
    const each = <Value>(table: Record<string, Value>, change: (value: Value) => Value) =>
      Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value)]));
    const changed: ClusterSnapshot = {
      ...from,
      exports: each(from.exports, (service) => ({ ...service, endpoints })),
      imports: each(from.imports, () => ({ ...imported, ...managed })),
      pods: to.pods,
      findings: to.findings,
    };
    return [from, changed] as const;
  });

/** What decides ranks: what is served, and since when. */
function judged(state: HeldState): (JudgedKey & { readonly exportedAt?: string | undefined })[] {
  return [...keysToJudge(state, SeenCluster.unseen(0, 0))]
    .filter(({ isServed }) => isServed)
    .map((one) => ({
      ...one,
      exportedAt: one.table === "exports" ? state.entry("exports", one.key)?.exportedAt : undefined,
    }))
    .sort((one, other) => (`${one.table} ${one.key}` < `${other.table} ${other.key}` ? -1 : 1));
}

test("a change that has an inverse changes nobody's rank, and its inverse brings back all that was there", () => {
  let [runs, inverses] = [0, 0];
  fc.assert(
    fc.property(pair, ([from, to]) => {
      runs++;
      const cluster = HeldCluster.of(from, META);
      const totals = drain(cluster.count());
      const delta = changesBetween(heldSnapshot(from), to);
      const measured = drain(cluster.measure(delta));
      const inverse = inverseOf(cluster, delta);
      if (inverse === undefined) return;
      inverses++;
      const before = judged(cluster.state);
      drain(cluster.apply(measured));
      expect(snapshotOf("west", cluster.state)).toEqual(to);
      expect(judged(cluster.state)).toEqual(before);
      drain(cluster.apply(inverse));
      expect(snapshotOf("west", cluster.state)).toEqual(from);
      expect(drain(cluster.count())).toEqual(totals);
    }),
    { numRuns: 500 },
  );
  expectMet(inverses, runs / 10);
});
