import { expect, it, vi } from "vitest";
import { createPinTable } from "../../src/merge/grants.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import { createClaimFilter } from "../../src/names/entries.ts";
import { reverseLosses } from "../../src/names/reverse-losses.ts";
import { SnapshotRows } from "../../src/names/snapshot-rows.ts";
import type { ClusterSnapshot, Endpoint } from "../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { entriesOf } from "./entries-of.ts";
import { worldOf } from "./world-of.ts";

const COUNT = 640;
/** Addresses that share a row of claims. */
const NEIGHBOURS = 64;
const all = Array.from(
  { length: COUNT },
  (_, index): Endpoint => ({ address: `10.1.${index >> 8}.${index & 255}` }),
);

function headless(clusterId: string, key: string, exportedAt: string): ClusterSnapshot {
  return snapshot(clusterId, {
    exports: { [key]: exported({ headless: true, exportedAt, endpoints: endpoints(...all) }) },
  });
}

const first = headless("west", "shop/first", "2024-01-01T00:00:00Z");
const second = headless("east", "shop/second", "2025-01-01T00:00:00Z");

it("the reverse names that a large service lost are found in steps, and neighbours are read together", () => {
  const world = worldOf([first, second]);
  const reads = vi.spyOn(world.entries, "claimsIn");
  const steps = reverseLosses(world, "shop/second");
  let count = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) count++;
  expect(next.value).toMatchObject([
    {
      clusterId: "east",
      reason: "ReverseNameTaken",
      message: expect.stringContaining(`of ${COUNT - 5} more`),
    },
  ]);
  expect(count).toBeGreaterThan(COUNT / NEIGHBOURS);
  expect(reads).toHaveBeenCalledTimes(COUNT / NEIGHBOURS);
});

it("a scope that hides imports reads a service once for all neighbours", () => {
  const imports = { "shop/first": imported({ endpoints: { west: endpoints(...all) } }) };
  const rows = new SnapshotRows([snapshot("west", { imports })]);
  const reads = vi.spyOn(rows, "entry");
  const filter = createEntryFilter({ clusters: ["west"], addressRanges: ["10.1.0.0/25"] });
  const claim = { cluster: "west", name: "shop/first", basis: "import" } as const;
  const exists = createClaimFilter(rows, filter, "0a01000", () => false);
  for (let index = 0; index < NEIGHBOURS; index++)
    expect(exists(claim, `0a0100${index.toString(16).padStart(2, "0")}`)).toBe(true);
  const found = reads.mock.calls.map((call) => call.join(" "));
  expect(found).toHaveLength(2);
  expect(found.length).toBe(new Set(found).size);
  expect(createClaimFilter(rows, filter, "0a01012", () => false)(claim, "0a010180")).toBe(false);
  expect(reads).toHaveBeenCalledTimes(found.length);
});

it("a scope that hides addresses, but no source of them, reads no service that is exported", () => {
  const reads = vi.spyOn(SnapshotRows.prototype, "entry");
  const { on } = entriesOf([first, second], { addressRanges: ["10.1.0.0/25"] }).claimsIn("0a01000");
  reads.mockClear();
  expect(on("0a010000", createPinTable())).toHaveLength(2);
  expect(reads).not.toHaveBeenCalled();
});
