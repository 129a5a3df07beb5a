import { beforeEach, describe, expect, it } from "vitest";
import type { CompiledKey, NameKey } from "../../../src/zone/compiler/name-keys.ts";
import { dottedOf, NameKeys } from "../../../src/zone/compiler/name-keys.ts";
import { keyHash } from "../../../src/zone/segment/name-hash.ts";
import type { SourceCluster, ZoneSource } from "../../../src/zone/zone-source.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, port } from "../../merge/fixtures.ts";
import { unzoned, zoned } from "./own-zones.ts";

const COMPILED = {} as CompiledKey;
const LARGE = 1e9;

let names: NameKeys<string>;
beforeEach(() => {
  names = new NameKeys(LARGE);
});

/** Updates keys, of which the clusterset has those with sizes. */
function update(
  keys: readonly string[],
  {
    clusters = [],
    sizes = {},
    hosts = 0,
  }: {
    readonly clusters?: readonly SourceCluster[];
    readonly sizes?: Readonly<Record<string, number>>;
    readonly hosts?: number;
  } = {},
): void {
  const source = { sizeOf: (key: string) => sizes[key] } as ZoneSource;
  const byId = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
  for (const key of keys) names.update(key, source, byId, hosts);
}

const held = (): NameKey[] => [...names.trie.top.items!].sort((one, other) => (one.key < other.key ? -1 : 1));
const localsOf = (key: string) =>
  held()
    .find((own) => own.key === key)
    ?.locals.map((own) => `${own.clusterId} ${own.kind} ${own.key}`);

describe("the key of a Service in a cluster's own zone", () => {
  const dotted = (ownedName: string) => alias("www.example.com", { ownedName });
  const place = (key: string, service?: ReturnType<typeof local>, clusterId = "east") =>
    names.placeService(zoned(clusterId, { services: service === undefined ? [] : [[key, service]] }), key);

  it("is its own, whether it comes, changes or leaves", () => {
    for (const service of [local(), local({ clusterIPs: ["10.96.0.1"] }), undefined])
      expect(place("shop/web", service)).toEqual(["shop/web"]);
  });

  it("is that of the last label of a dotted name (multi-label CNAME proposal); with the key before, once that is another one", () => {
    expect(place("shop/web", dotted("a.b"))).toEqual(["shop/web", "shop/b"]);
    expect(place("shop/web", dotted("a.b"))).toEqual(["shop/b"]);
    expect(place("shop/web", dotted("a.c"))).toEqual(["shop/b", "shop/c"]);
    expect(place("shop/web", local())).toEqual(["shop/c", "shop/web"]);
    expect(place("shop/web", dotted("a.b"))).toEqual(["shop/web", "shop/b"]);
    expect(place("shop/web")).toEqual(["shop/b"]);
    expect(place("shop/web")).toEqual(["shop/web"]);
  });

  it("is followed for each cluster", () => {
    place("shop/web", dotted("a.b"));
    place("shop/web", dotted("a.c"), "west");
    expect(place("shop/web", undefined, "west")).toEqual(["shop/c"]);
    expect(place("shop/web")).toEqual(["shop/b"]);
  });

  it("is none of a cluster without a zone", () => {
    expect(names.placeService(unzoned("east"), "shop/web")).toEqual(["shop/web"]);
    expect([...names.keysOf("east")]).toEqual([]);
  });

  it("moves the object to it", () => {
    place("shop/web", dotted("a.b"));
    expect([...names.keysOf("east")]).toEqual(["shop/b"]);
    place("shop/web", dotted("a.c"));
    expect([...names.keysOf("east")]).toEqual(["shop/c"]);
    place("shop/web");
    expect([...names.keysOf("east")]).toEqual([]);
  });

  it("is that of the dotted name as of when it was compiled, if it was put there", () => {
    const locals = [
      { clusterId: "east", kind: "service" as const, key: "shop/web" },
      { clusterId: "east", kind: "pod" as const, key: "shop/fd00::1" },
    ];
    const own = { key: "shop/b", weight: 3, locals, compiled: COMPILED };
    names = new NameKeys(LARGE, { read: () => [own] });
    names.place({ depth: 0, prefix: 0 }, dottedOf(own), { weight: 3, count: 1, result: "leaf" });
    expect(place("shop/web")).toEqual(["shop/b"]);
    expect(place("shop/fd00::1")).toEqual(["shop/fd00::1"]);
    expect(held()[0]!.locals).toEqual(locals.slice(1));
  });
});

describe("the keys of a pod (DNS-based service discovery, 2.6)", () => {
  it.each<[string, string, string[]]>([
    ["are its address with dashes", "shop/10.2.0.1", ["shop/10-2-0-1"]],
    ["are one for IPv6, too", "shop/fd00::1", ["shop/fd00--1"]],
    ["are two if the label would end in a dash", "shop/fd00::", ["shop/fd00--", "shop/fd00--0"]],
    ["have the text of an address that is none, for its finding", "shop/10.2.0.999", ["shop/10.2.0.999"]],
  ])("%s", (_, key, expected) => {
    const cluster = zoned("east", { pods: [key] });
    expect(names.placePod(cluster, key)).toEqual(expected);
    expect([...names.keysOf("east")]).toEqual(expected);
    expect(names.placePod(zoned("east", {}), key)).toEqual(expected);
    expect([...names.keysOf("east")]).toEqual([]);
  });

  it.each(["insecure", "disabled"] as const)("have no object where names of pods are %s", (pods) => {
    const key = "shop/10.2.0.1";
    names.placePod(zoned("east", { pods: [key] }), key);
    names.placePod(zoned("east", { pods: [key], zone: { pods } }), key);
    expect([...names.keysOf("east")]).toEqual([]);
  });

  it("have none without a zone", () => {
    expect(names.placePod(unzoned("east"), "shop/10.2.0.1")).toEqual(["shop/10-2-0-1"]);
    expect([...names.keysOf("east")]).toEqual([]);
  });
});

describe("the objects of a key", () => {
  const key = "shop/10-2-0-1";
  const clusters = ["west", "east"].map((clusterId) =>
    zoned(clusterId, {
      pods: ["shop/10.2.0.1"],
      services: [key, ["shop/other", alias("www.example.com", { ownedName: "a.10-2-0-1" })]],
    }),
  );
  const place = () => {
    for (const cluster of clusters) {
      names.placePod(cluster, "shop/10.2.0.1");
      for (const own of ["shop/other", key]) names.placeService(cluster, own);
    }
    update([key], { clusters });
  };

  it("are sorted by cluster, kind and key, each once", () => {
    place();
    const sorted = ["east", "west"].flatMap((clusterId) =>
      ["pod shop/10.2.0.1", `service ${key}`, "service shop/other"].map((own) => `${clusterId} ${own}`),
    );
    expect(localsOf(key)).toEqual(sorted);
    place();
    expect(localsOf(key)).toEqual(sorted);
  });

  it("leave one by one", () => {
    place();
    names.placeService(zoned("west", {}), key);
    names.placePod(zoned("east", {}), "shop/10.2.0.1");
    expect(localsOf(key)).toEqual([
      `east service ${key}`,
      "east service shop/other",
      "west pod shop/10.2.0.1",
      "west service shop/other",
    ]);
  });

  it("leave with their cluster, whose keys are returned; dotted names are forgotten", () => {
    place();
    names.placeService(zoned("west", { services: ["shop/web"] }), "shop/web");
    expect([...names.keysOf("east")]).toEqual([key]);
    expect([...names.dropCluster("east")]).toEqual([key]);
    expect(localsOf(key)!.map((own) => own.slice(0, 5))).toEqual(["west ", "west ", "west "]);
    expect([...names.keysOf("east")]).toEqual([]);
    expect([...names.dropCluster("east")]).toEqual([]);
    expect(names.placeService(zoned("east", {}), "shop/other")).toEqual(["shop/other"]);
    expect(names.placeService(zoned("west", {}), "shop/other")).toEqual([key]);
  });

  it("stay if a cluster leaves whose id is the beginning of theirs", () => {
    const one = zoned("east-1", { services: [["shop/web", alias("www.example.com", { ownedName: "a.b" })]] });
    names.placeService(one, "shop/web");
    expect([...names.dropCluster("east")]).toEqual([]);
    expect(names.placeService(zoned("east-1", {}), "shop/web")).toEqual(["shop/b"]);
  });
});

describe("a key", () => {
  const key = "shop/web";

  it("has the hash of its labels on the wire, in any case: look-ups find its segment by that", () => {
    const wire = Uint8Array.from(
      [4, ..."shop"].flatMap((one) => (typeof one === "string" ? one.charCodeAt(0) : one)),
    );
    const name = Uint8Array.of(...wire, 3, ...[..."web"].map((one) => one.charCodeAt(0)));
    update([key, "SHOP/Web"], { sizes: { [key]: 0, "SHOP/Web": 0 } });
    expect(held().map(({ hash }) => hash)).toEqual([keyHash(name, 0, 5), keyHash(name, 0, 5)]);
  });

  const weights: readonly (readonly [
    title: string,
    expected: number,
    parts: Parameters<typeof update>[1],
  ])[] = [
    ["a service of the clusterset without anything", 3, { sizes: { [key]: 0 } }],
    ["a service of the clusterset with a port and two addresses", 6, { sizes: { [key]: 3 } }],
    ["two hosts", 6, { hosts: 2 }],
    ["a Service without anything", 3, { clusters: [zoned("east", { services: [key] })] }],
    [
      "a Service with two cluster IPs, a port and two endpoints",
      8,
      {
        clusters: [
          zoned("east", {
            services: [
              [
                key,
                local({
                  clusterIPs: ["10.96.0.1", "fd00::1"],
                  ports: [port("http", 80)],
                  endpoints: endpoints({ address: "10.1.0.1" }, { address: "10.1.0.2" }),
                }),
              ],
            ],
          }),
        ],
      },
    ],
    [
      "all of these",
      14,
      {
        ...{ sizes: { [key]: 2 }, hosts: 1 },
        clusters: [zoned("east", { services: [key] }), zoned("west", { services: [key] })],
      },
    ],
  ];
  it.each(weights)("with %s weighs %d", (_, expected, parts) => {
    for (const cluster of parts?.clusters ?? []) names.placeService(cluster, key);
    update([key], parts);
    expect(held().map(({ weight }) => weight)).toEqual([expected]);
    expect([names.trie.top.weight, names.trie.top.count]).toEqual([expected, 1]);
  });

  it("with a pod weighs 4, whatever Service has the pod's key", () => {
    const cluster = zoned("east", {
      pods: ["shop/10.2.0.1"],
      services: [["shop/10.2.0.1", local({ clusterIPs: ["10.96.0.1", "10.96.0.2"] })]],
    });
    names.placePod(cluster, "shop/10.2.0.1");
    update(["shop/10-2-0-1"], { clusters: [cluster] });
    expect(names.trie.top.weight).toBe(4);
  });

  it("changes its leaf if it comes, changes or leaves", () => {
    for (const sizes of [{ [key]: 1 }, { [key]: 1 }, { [key]: 5 }, {}]) {
      names.trie.changed.clear();
      update([key], { sizes });
      expect(names.trie.changed.size).toBe(1);
    }
    expect([names.trie.top.weight, names.trie.top.count, held()]).toEqual([0, 0, []]);
  });

  it("that nothing has changes no leaf", () => {
    names.trie.changed.clear();
    update([key]);
    update([key]);
    expect([names.trie.changed.size, names.trie.top.count, names.trie.top.weight]).toEqual([0, 0, 0]);
    expect(names.takeGone()).toEqual([]);
  });

  it("that is gone is returned once, if it was compiled", () => {
    update([key, "shop/other"], { sizes: { [key]: 1, "shop/other": 1 } });
    held().find((own) => own.key === key)!.compiled = COMPILED;
    update([key, "shop/other"]);
    expect(names.takeGone().map((own) => own.key)).toEqual([key]);
    expect(names.takeGone()).toEqual([]);
    update([key], { sizes: { [key]: 1 } });
    expect(held()[0]!.compiled).toBeUndefined();
  });

  it("is put where a leaf with it was, with what it was compiled to, and follows changes from there", () => {
    const own = { key, weight: 5, locals: [], compiled: COMPILED };
    let reads = 0;
    names = new NameKeys(LARGE, {
      read: () => {
        reads++;
        return [own];
      },
    });
    names.place({ depth: 0, prefix: 0 }, [], { weight: 5, count: 1, result: "leaf" });
    expect([names.trie.top.items, names.trie.changed.size, reads]).toEqual([undefined, 0, 0]);
    names.trie.itemsOf(names.trie.top);
    expect([names.trie.top.weight, names.trie.top.count, names.trie.top.result]).toEqual([5, 1, "leaf"]);
    expect(held()[0]).toMatchObject(own);
    update([key], { sizes: { [key]: 1 } });
    expect(names.trie.top.weight).toBe(4);
    update([key]);
    expect(names.takeGone().map(({ compiled }) => compiled)).toEqual([COMPILED]);
  });
});
