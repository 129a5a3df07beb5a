import { describe, expect, it } from "vitest";
import { addressOf, placeHosts } from "../../../src/zone/compiler/hosts.ts";
import type { TreePlan } from "../../../src/zone/zone-plan.ts";

type Tree = Parameters<typeof placeHosts>[0][number];

const tree = (plan: TreePlan, ...zones: string[]): Tree => ({ key: plan.key, plan, zones });
const clusterset = tree({ key: "clusterset", kind: "clusterset" }, "clusterset.local.", "alias.test.");
const local = tree({ key: "local:east", kind: "cluster-local", cluster: undefined as never }, "east.test.");
const federation = tree(
  {
    ...{ key: "federation:fed.example.", kind: "federation" },
    zones: [
      { federation: "Fed", clients: "external" },
      { federation: "other", clients: "external" },
    ],
  },
  "fed.example.",
);

/** The placed hosts: `<key>: <tree> <labels> (<labels of the namespace>) <last bytes of the addresses>`. */
const placed = (hosts: Parameters<typeof placeHosts>[1], trees = [clusterset, local, federation]) =>
  [...placeHosts(trees, hosts)].flatMap(([key, own]) =>
    own.map(
      ({ tree, labels, stemLabels, addresses }) =>
        `${key}: ${tree} ${labels.length === 0 ? "@" : labels.join(".")} (${stemLabels}) ${addresses.map((bytes) => bytes.at(-1)).join(",")}`,
    ),
  );
const at = (name: string) => placed([{ name, addresses: ["192.0.2.1"] }]);

describe("a host", () => {
  it.each<[string, string, string[]]>([
    ["of no zone is left out", "gw.example.com", []],
    ["whose name only ends like a zone is left out", "gw.notclusterset.local", []],
    ["above a zone is left out", "local", []],
    ["at an apex has no labels", "clusterset.local", [": clusterset @ (0) 1"]],
    ["beside the namespaces has none", "gw.clusterset.local", [": clusterset gw (0) 1"]],
    ["is in its zone in any case", "GW.Clusterset.LOCAL", [": clusterset gw (0) 1"]],
    ["is in all names of the tree by any zone", "gw.alias.test", [": clusterset gw (0) 1"]],
    ["at svc has no namespace", "svc.clusterset.local", [": clusterset svc (0) 1"]],
    ["at a namespace has none itself", "shop.svc.clusterset.local", [": clusterset shop.svc (0) 1"]],
    ["in a namespace has its key", "gw.shop.svc.clusterset.local", ["shop/gw: clusterset gw.shop.svc (2) 1"]],
    [
      "far below a namespace has the key of the label next to it",
      "a.b.gw.shop.svc.clusterset.local",
      ["shop/gw: clusterset a.b.gw.shop.svc (2) 1"],
    ],
    [
      "below pod has no namespace in the clusterset",
      "a.shop.pod.clusterset.local",
      [": clusterset a.shop.pod (0) 1"],
    ],
    [
      "below pod has one in a cluster's own zone",
      "a.shop.pod.east.test",
      ["shop/a: local:east a.shop.pod (2) 1"],
    ],
    [
      "below svc has one in a cluster's own zone",
      "a.shop.svc.east.test",
      ["shop/a: local:east a.shop.svc (2) 1"],
    ],
    ["below another label has none there", "a.shop.any.east.test", [": local:east a.shop.any (0) 1"]],
    [
      "in a federation has the key of its namespace",
      "gw.shop.fed.svc.fed.example",
      ["shop/gw: federation:fed.example. gw.shop.fed.svc (3) 1"],
    ],
    [
      "in any federation of the zone has it, too",
      "a.gw.shop.other.svc.fed.example",
      ["shop/gw: federation:fed.example. a.gw.shop.other.svc (3) 1"],
    ],
    [
      "at a namespace of a federation has none itself",
      "shop.fed.svc.fed.example",
      [": federation:fed.example. shop.fed.svc (0) 1"],
    ],
    [
      "below a label that is not a federation has no namespace",
      "gw.shop.none.svc.fed.example",
      [": federation:fed.example. gw.shop.none.svc (0) 1"],
    ],
    [
      "in a federation, but not below svc, has no namespace",
      "gw.shop.fed.pod.fed.example",
      [": federation:fed.example. gw.shop.fed.pod (0) 1"],
    ],
  ])("%s", (_, name, expected) => {
    expect(at(name)).toEqual(expected);
  });

  it("is placed in each tree that has its zone", () => {
    const other = tree(
      { key: "local:west", kind: "cluster-local", cluster: undefined as never },
      "east.test.",
    );
    expect(placed([{ name: "gw.east.test", addresses: ["192.0.2.1"] }], [local, other])).toEqual([
      ": local:east gw (0) 1",
      ": local:west gw (0) 1",
    ]);
  });

  it("has the addresses of all hosts with its name, in zones of one tree as well", () => {
    expect(
      placed([
        { name: "gw.shop.svc.clusterset.local", addresses: ["192.0.2.1", "fd00::2"] },
        { name: "gw.shop.svc.alias.test", addresses: ["192.0.2.3"] },
        { name: "a.gw.shop.svc.alias.test", addresses: ["192.0.2.4"] },
      ]),
    ).toEqual(["shop/gw: clusterset gw.shop.svc (2) 1,2,3", "shop/gw: clusterset a.gw.shop.svc (2) 4"]);
  });

  it("is another one than a host whose labels have the same letters", () => {
    const hosts = ["a.b", "ab"].map((name) => ({
      name: `${name}.clusterset.local`,
      addresses: ["192.0.2.1"],
    }));
    expect(placed(hosts)).toEqual([": clusterset a.b (0) 1", ": clusterset ab (0) 1"]);
  });

  it("must have IP addresses", () => {
    expect([...addressOf("192.0.2.7")]).toEqual([192, 0, 2, 7]);
    for (const text of ["", "gw", "192.0.2.256"])
      expect(() => addressOf(text)).toThrow(
        new RangeError(`the address ${JSON.stringify(text)} is not an IP address`),
      );
  });
});
