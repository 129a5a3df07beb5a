import { expect, it } from "vitest";
import { HeldCluster } from "../../../src/gateway/leases/held-cluster.ts";
import { inverseOf } from "../../../src/gateway/pushing/inverse-change.ts";
import { SMALL_CHANGE } from "../../../src/gateway/serving/change-size.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { HeldTables } from "../../../src/snapshot/held/held-tables.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { day, endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { changesBetween } from "../../snapshot/changes.ts";

const pods = endpoints({ address: "10.0.0.1" });
const before = snapshot("west", {
  exports: { "shop/web": exported({ exportedAt: day(3) }) },
  imports: { "shop/db": imported(), "shop/own": imported({ managed: true }) },
});

/** Whether a change from `before` can be taken back after it was served. */
function hasInverse(after: Partial<ClusterSnapshot>, isStored = false): boolean {
  const tables = HeldTables.of(before);
  if (isStored) Object.defineProperty(tables, "isStored", { value: true });
  const cluster = HeldCluster.in("west", tables, { generation: 1, pushedAt: 0, renewedAt: 0, expiresAt: 1 });
  drain(cluster.count());
  return inverseOf(cluster, changesBetween(heldSnapshot(before), { ...before, ...after })) !== undefined;
}

const findingsOf = (number: number): ClusterSnapshot["findings"] =>
  Object.fromEntries(
    Array.from({ length: number }, (_, index) => [
      `Service/shop/web-${index}/PortOutOfRange`,
      {
        reason: "PortOutOfRange",
        kind: "Service",
        namespace: "shop",
        name: `web-${index}`,
        message: "no port",
      },
    ]),
  );

it.each<[string, Partial<ClusterSnapshot>]>([
  [
    "an export with other endpoints",
    { exports: { "shop/web": exported({ exportedAt: day(3), endpoints: pods }) } },
  ],
  [
    "an import with other addresses",
    { imports: { ...before.imports, "shop/db": imported({ ips: ["10.96.0.1"] }) } },
  ],
  [
    "a managed import with other endpoints",
    { imports: { ...before.imports, "shop/own": imported({ managed: true, endpoints: { east: pods } }) } },
  ],
  ["no change", {}],
  ["as many findings as a small change has", { findings: findingsOf(SMALL_CHANGE) }],
])("%s is served before it is stored, unless entries are read from the store", (_, after) => {
  expect([hasInverse(after), hasInverse(after, true)]).toEqual([true, false]);
});

it.each<[string, Partial<ClusterSnapshot>]>([
  ["a new namespace", { namespaces: { shop: {}, bank: {} } }],
  ["a namespace that is gone", { namespaces: {} }],
  ["a new export", { exports: { ...before.exports, "shop/api": exported() } }],
  ["an export that is gone", { exports: {} }],
  ["an export with another creation time", { exports: { "shop/web": exported({ exportedAt: day(2) }) } }],
  ["a new import", { imports: { ...before.imports, "shop/api": imported() } }],
  ["a new managed import", { imports: { ...before.imports, "shop/api": imported({ managed: true }) } }],
  ["an import that is gone", { imports: { "shop/own": imported({ managed: true }) } }],
  ["a managed import that is gone", { imports: { "shop/db": imported() } }],
  [
    "an import that becomes managed",
    { imports: { ...before.imports, "shop/db": imported({ managed: true }) } },
  ],
  ["an import that is managed no more", { imports: { ...before.imports, "shop/own": imported() } }],
  ["another region", { topology: { region: "north" } }],
  ["one finding more than a small change has", { findings: findingsOf(SMALL_CHANGE + 1) }],
])("%s is stored before it is served", (_, after) => {
  expect(hasInverse(after)).toBe(false);
});
