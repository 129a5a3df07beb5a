import { expect, it, vi } from "vitest";
import type { AddressClaim } from "../../src/names/entries.ts";
import { reverseLosses } from "../../src/names/reverse-losses.ts";
import { holderOf, withFirstOrders } from "../../src/names/reverse-names.ts";
import type { ReverseCandidate } from "../../src/zone/kinds/tree-scope.ts";
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

interface Claiming {
  readonly order?: number;
  readonly basis?: AddressClaim["basis"];
  /** Of the part of its service; no record without it. */
  readonly since?: number;
  readonly label?: string;
  readonly claimants?: string[];
  readonly view?: string;
}

/** Claims by `<cluster> <name>`. */
function claimsOf(claiming: Readonly<Record<string, Claiming>>): AddressClaim[] {
  return Object.entries(claiming).map(([id, { order = 0, basis = "export" }]) => {
    const [clusterId, key] = id.split(" ") as [string, string];
    return { clusterId, key, basis, order };
  });
}

/** The cluster and service that hold an address, and `hidden` or `lost` where it has no name. */
function holder(claiming: Readonly<Record<string, Claiming>>): string | undefined {
  const candidatesOf = ({ clusterId, key }: AddressClaim) => {
    const { since, label, claimants = [clusterId], view } = claiming[`${clusterId} ${key}`]!;
    const source = { since, claimants, view };
    return since === undefined ? [] : [{ source, label } as unknown as ReverseCandidate];
  };
  const held = holderOf(claimsOf(claiming), candidatesOf);
  return held && [held.claim.clusterId, held.claim.key, held.without].filter(Boolean).join(" ");
}

const ALWAYS = Number.NEGATIVE_INFINITY;
const both = ["b", "a"];

// docs/reference/names-and-records.md, Reverse names
it.each<[string, Record<string, Claiming>, string | undefined]>([
  [
    "the cluster that reported it first",
    { "a x": { order: 2, since: 1 }, "b y": { order: 1, since: 2 } },
    "b y",
  ],
  ["the oldest part, of one order", { "a x": { since: 2 }, "b y": { since: 1 } }, "b y"],
  [
    "the service's first claimant, of parts as old",
    { "a x": { since: 1, claimants: both }, "b x": { since: 1, claimants: both } },
    "b x",
  ],
  ["the first name, of one claimant", { "a y": { since: 1 }, "a x": { since: 1 } }, "a x"],
  [
    "the service with a hostname, of one cluster",
    { "a x": { since: 1 }, "a y": { since: 2, label: "l" } },
    "a y",
  ],
  [
    "the oldest part, though another cluster has a hostname",
    { "a x": { since: 1 }, "b y": { since: 2, label: "l" } },
    "a x",
  ],
  [
    "a claimant of its service, not an older cluster that is none",
    { "a x": { since: 1, claimants: ["b"] }, "b x": { since: 2 } },
    "b x",
  ],
  ["an export without a record", { "a x": { order: 1 }, "b x": { order: 2, since: 1 } }, "a x hidden"],
  [
    "a later cluster, where the export without a record has no known order",
    { "a x": {}, "b x": { order: 2, since: 1 } },
    "b x",
  ],
  [
    "the cluster that reported it anew before others",
    { "a x": { order: -1, since: 1 }, "b x": { order: 2, since: 1 } },
    "a x",
  ],
  [
    "nobody, where another cluster's order was lost",
    { "a x": { order: 1, since: 1 }, "b x": { order: -2 } },
    "a x lost",
  ],
  [
    "nobody, where the order was lost of a cluster that may speak for all",
    { "a x": { order: 1, since: 1 }, "b x": { order: -2, basis: "import", since: ALWAYS } },
    "a x lost",
  ],
  [
    "an export, where the order was lost of an import without a grant",
    { "a x": { order: 1, since: 1 }, "b x": { order: -2, basis: "import", since: 1 } },
    "a x",
  ],
  [
    "a cluster of whose services one lost its order",
    { "a x": { order: 1, since: 1 }, "a y": { order: -2 } },
    "a x",
  ],
  [
    "a cluster's import that may speak for all",
    { "a x": { order: 1, basis: "import", since: ALWAYS }, "b x": { order: 2, since: 1 } },
    "a x",
  ],
  [
    "an export before an import without a grant",
    { "a x": { order: 1, basis: "import", since: 1 }, "b x": { order: 2, since: 1 } },
    "b x",
  ],
  [
    "the oldest part of others, where nothing is exported",
    { "a x": { basis: "import", since: 2 }, "b x": { basis: "other", since: 1 } },
    "b x",
  ],
  [
    "an export before an older refused one",
    { "a x": { basis: "other", order: 1, since: 1 }, "b x": { order: 2, since: 2 } },
    "b x",
  ],
  [
    "nobody, by a record of one view",
    { "a x": { since: 1, view: "a" }, "a y": { basis: "local", since: 1 } },
    undefined,
  ],
])("an address belongs to %s", (_, claiming, expected) => {
  const reversed = Object.fromEntries(Object.entries(claiming).reverse());
  expect([holder(claiming), holder(reversed)]).toEqual([expected, expected]);
});

it("a cluster's claims on an address have the first order of their basis", () => {
  const imported = { order: 1, basis: "import" } as const;
  const claims = claimsOf({
    "a x": { order: 5 },
    "a y": { order: -2 },
    "a z": { order: 3 },
    "a i": imported,
  });
  expect(withFirstOrders(claims).map(({ order }) => order)).toEqual([-2, -2, -2, 1]);
});

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
