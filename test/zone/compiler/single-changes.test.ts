import { describe, expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, port, snapshot } from "../../merge/fixtures.ts";
import { compileEach, expectSame, findingsOf, hashesOf, source } from "../compile-worlds.ts";

type Parts = Partial<ClusterSnapshot>;

const web = exported({ headless: true, endpoints: endpoints({ address: "10.1.0.1" }) });
// With an address of its own: who has a contested one depends on who had it before.
const log = exported({ headless: true, endpoints: endpoints({ address: "10.1.0.9" }) });
const zone = (name: string, pods: "disabled" | "verified" | "insecure" = "disabled") => ({
  clusterZone: { name, pods },
});
const own = local({ clusterIPs: ["10.96.0.1"], ports: [port("http", 80)] });
const zoned: Parts = { ...zone("own.test"), services: { "shop/own": own } };
const base: Parts = { namespaces: { shop: {}, ops: {} }, exports: { "shop/web": web, "ops/log": log } };

/** What the cluster east has before and after, besides `base`; west never changes. */
const cases: readonly (readonly [change: string, before: Parts, after: Parts])[] = [
  ["a namespace", {}, { namespaces: { shop: {}, ops: {}, more: {} } }],
  ["a namespace with Services of its own zone", { ...zoned, namespaces: { ops: {} } }, zoned],
  ["a service in a namespace of its own", {}, { exports: { ...base.exports, "shop/new": web } }],
  ["the last service of a namespace", {}, { exports: { "shop/web": web } }],
  [
    "a service's finding",
    {},
    { exports: { ...base.exports, "shop/web": exported({ ports: [port("zero", 0)] }) } },
  ],
  ["its own zone", {}, zoned],
  ["the name of its own zone", zoned, { ...zoned, ...zone("other.test") }],
  ["an own zone that is another zone's", zoned, { ...zoned, ...zone("clusterset.local") }],
  ["a Service of its own zone", zoned, { ...zoned, services: {} }],
  [
    "the address of a Service of its own zone",
    zoned,
    { ...zoned, services: { "shop/own": local({ clusterIPs: ["10.96.0.2"] }) } },
  ],
  ["an alias", zoned, { ...zoned, services: { "shop/own": alias("www.example.com") } }],
  [
    "an alias for a name below",
    zoned,
    { ...zoned, services: { "shop/own": alias("www.example.com", { ownedName: "a.b" }) } },
  ],
  [
    "the name below that an alias is for",
    { ...zoned, services: { "shop/own": alias("www.example.com", { ownedName: "a.b" }) } },
    { ...zoned, services: { "shop/own": alias("www.example.com", { ownedName: "a.c" }) } },
  ],
  [
    "names of pods",
    { ...zoned, pods: { "shop/10.2.0.1": {} } },
    { ...zoned, ...zone("own.test", "verified"), pods: { "shop/10.2.0.1": {} } },
  ],
  ["names of any pods", zoned, { ...zoned, ...zone("own.test", "insecure") }],
  [
    "a pod",
    { ...zoned, ...zone("own.test", "verified") },
    { ...zoned, ...zone("own.test", "verified"), pods: { "shop/fd00::1": {}, "ops/10.2.0.1": {} } },
  ],
  [
    "a pod whose address is none",
    { ...zoned, ...zone("own.test", "verified") },
    { ...zoned, ...zone("own.test", "verified"), pods: { "shop/10.2.0.999": {} } },
  ],
  ["its region", { topology: { region: "eu", zones: ["a"] } }, { topology: { region: "us", zones: ["a"] } }],
  [
    "its topology zones",
    { topology: { region: "eu", zones: ["a"] } },
    { topology: { region: "eu", zones: ["b"] } },
  ],
  ["a service at a host's name", {}, { exports: { ...base.exports, "shop/gw": web } }],
  [
    "a contested address",
    {},
    {
      exports: {
        ...base.exports,
        "shop/a": exported({ headless: true, endpoints: endpoints({ address: "10.1.0.2" }) }),
      },
    },
  ],
];

describe.each([
  ["small", { names: 6, reverse: 2 }],
  ["large", { names: 1e9, reverse: 1e9 }],
] as const)("in %s segments", (_, weights) => {
  it.each(cases)(
    "a change of %s, and back, compiles what a compilation from scratch does",
    (__, before, after) => {
      const west = snapshot("west", {
        ...zone("own.test"),
        exports: {
          "shop/web": web,
          "shop/b": exported({ headless: true, endpoints: endpoints({ address: "10.1.0.2" }) }),
        },
        services: { "shop/own": own },
      });
      const [one, other] = [before, after].map((parts) =>
        source([snapshot("east", { ...base, ...parts }), west]),
      );
      const worlds = [one!, other!, one!, other!];
      const changed = compileEach(worlds, "changes", weights);
      const scratch = compileEach(worlds, "scratch", weights);
      expectSame(changed, scratch);
      const shown = changed.map((_compiled, index) => [hashesOf(changed)[index], findingsOf(changed)[index]]);
      expect(shown[0]).not.toEqual(shown[1]);
      expect(hashesOf(changed).slice(2)).toEqual(hashesOf(changed).slice(0, 2));
    },
  );
});
