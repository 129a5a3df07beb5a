import { expect, it } from "vitest";
import { parseAddress } from "../../src/dns/address.ts";
import { candidatesFor, type WantedNames } from "../../src/names/reverse-names.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld } from "../resolve/ask.ts";
import { worldOf } from "./world-of.ts";

it("what a large service wants for an address is found by reading few of its addresses, in whatever order they are reported", () => {
  const addresses = Array.from(
    { length: 2000 },
    (_, index) => `10.${(index * 7) % 251}.0.${index % 251}`,
  ).concat("2001:db8::1", "2001:db8::2");
  const member = (address: string, hostname: string) => [`${address}#${hostname}`, { address, hostname }];
  const members = Object.fromEntries([
    ...addresses.map((address) => member(address, "a")),
    ...addresses.map((address) => member(address, "b")).reverse(),
  ]);
  const many = exported({ headless: true, endpoints: { "*": { ports: [], members } } });
  const world = worldOf([snapshot("east", { exports: { "shop/many": many } })]);
  const { reverse } = world.unitOf(world.context.trees[0]!, "shop/many");
  let reads = 0;
  const counted = new Proxy(reverse, {
    get(target, property, receiver) {
      if (typeof property === "string" && /^\d+$/.test(property)) reads++;
      return Reflect.get(target, property, receiver);
    },
  }) as WantedNames;
  for (const address of new Set(addresses)) {
    const found = candidatesFor(counted, parseAddress(address)!);
    expect(found.map(({ label }) => label)).toEqual(["a"]);
  }
  expect(candidatesFor(counted, parseAddress("10.0.255.255")!)).toEqual([]);
  expect(reads / new Set(addresses).size).toBeLessThan(30);
});

it.each<[string, (string | undefined)[], string | undefined]>([
  ["the first of its hostnames", ["b", "a", "c"], "a"],
  ["a hostname rather than the address", [undefined, "b", "a"], "a"],
  ["the address where it has no hostname", [undefined], undefined],
])("a service wants one name for each address of a cluster: %s", (_, hostnames, label) => {
  const members = Object.fromEntries(
    ["10.0.0.1", "10.0.0.2"].flatMap((address) =>
      hostnames.map((hostname) => [`${address}#${hostname}`, { address, ...(hostname && { hostname }) }]),
    ),
  );
  const many = exported({ headless: true, endpoints: { "*": { ports: [], members } } });
  const world = worldOf([
    snapshot("east", { exports: { "shop/many": many } }),
    snapshot("west", { exports: { "shop/many": many } }),
  ]);
  const { reverse } = world.unitOf(world.context.trees[0]!, "shop/many");
  for (const address of ["10.0.0.1", "10.0.0.2"]) {
    const found = candidatesFor(reverse, parseAddress(address)!);
    expect(found.map((one) => [...one.source.claimants, one.label])).toEqual([
      ["east", label],
      ["west", label],
    ]);
  }
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
    const world = worldOf(snapshots, {}, merging);
    const context = { ...compileWorld(snapshots), world, view };
    expect(ask(context, "1.0.0.10.in-addr.arpa", "PTR").answer.map((text) => text.split(" ").at(-1))).toEqual(
      [`${name}.shop.svc.clusterset.local`],
    );
  },
);
