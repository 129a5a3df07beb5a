import { expect, it, vi } from "vitest";
import { reverseLosses } from "../../src/names/reverse-losses.ts";
import { day, endpoints, exported, exporting, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "../resolve/ask.ts";
import { worldOf } from "./world-of.ts";

const NAME = "1.0.0.10.in-addr.arpa";

it.each<[string, (string | undefined)[], string]>([
  ["the first of its hostnames", ["b", "a", "c"], "a"],
  ["a hostname rather than the address", [undefined, "b", "a"], "a"],
  ["the address where it has no hostname", [undefined], "10-0-0-1"],
])("a service has one reverse name for each address: %s", (_, hostnames, label) => {
  const members = hostnames.map((hostname) => ({ address: "10.0.0.1", ...(hostname && { hostname }) }));
  const context = compileWorld([exporting("east", { headless: true, endpoints: endpoints(...members) })]);
  expect(ask(context, NAME, "PTR").answer).toEqual([
    `${NAME} 5 PTR ${label}.east.web.shop.svc.clusterset.local`,
  ]);
});

it.each([
  ["any export holds it", {}, "a-0.a.web", undefined],
  [
    "one that pins refuse does not",
    { pins: { exports: new Map([["a", ["other"]]]) } },
    "b-0.b.db",
    undefined,
  ],
  ["nor in the view of its own cluster", { pins: { exports: new Map([["a", ["other"]]]) } }, "b-0.b.db", "a"],
])(
  "of an address that two clusters export the first one holds the reverse name: %s",
  (_, merging, name, view) => {
    const headless = (hostname: string) =>
      exported({ headless: true, endpoints: endpoints({ address: "10.0.0.1", hostname }) });
    const snapshots = [
      snapshot("a", { exports: { "shop/web": headless("a-0") } }),
      snapshot("b", { exports: { "shop/db": headless("b-0") } }),
    ];
    const context = { ...compileWorld(snapshots), world: worldOf(snapshots, {}, merging), view };
    expect(ask(context, NAME, "PTR").answer).toEqual([`${NAME} 5 PTR ${name}.shop.svc.clusterset.local`]);
  },
);

it("the reverse names that a large service lost are found in steps, and neighbours are read together", () => {
  const COUNT = 640;
  /** Addresses that share a row of claims. */
  const NEIGHBOURS = 64;
  const all = Array.from({ length: COUNT }, (_, index) => ({ address: `10.1.${index >> 8}.${index & 255}` }));
  const headless = (clusterId: string, name: string, exportedAt: string) =>
    snapshot(clusterId, {
      exports: { [`shop/${name}`]: exported({ headless: true, exportedAt, endpoints: endpoints(...all) }) },
    });
  const world = worldOf([headless("west", "first", day(1)), headless("east", "second", day(2))]);
  const reads = vi.spyOn(world.entries, "claimsIn");
  const steps = reverseLosses(world, "shop/second");
  let count = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) count++;
  const message = expect.stringContaining(`of ${COUNT - 5} more`);
  expect(next.value).toMatchObject([{ clusterId: "east", reason: "ReverseNameTaken", message }]);
  expect(count).toBeGreaterThan(COUNT / NEIGHBOURS);
  expect(reads).toHaveBeenCalledTimes(COUNT / NEIGHBOURS);
});
