import { describe, expect, it } from "vitest";
import { endpoints, exported, exporting, snapshot } from "../../merge/fixtures.ts";
import { openFeed } from "./open-feed.ts";

const pods = endpoints({ address: "10.0.0.1" });
const web = (clusterId: string) => exporting(clusterId, { endpoints: pods });
/** A cluster whose worker reports that it cannot export `shop/db`. */
const invalid = (clusterId: string, reason = "NoService") =>
  snapshot(clusterId, {
    findings: {
      [`ServiceExport/shop/db/${reason}`]: {
        ...{ reason, kind: "ServiceExport", namespace: "shop", name: "db", message: "no such Service" },
      },
    },
  });

describe("a cluster is live for a feed", () => {
  it("from the moment it joins to the moment it leaves", () => {
    const { feed, join, leave } = openFeed();
    expect(feed.has("a")).toBe(false);
    join(web("a"));
    expect([feed.has("a"), [...feed.namespacesOf("a")]]).toEqual([true, ["shop"]]);
    const stream = feed.open("a", undefined);
    expect(stream.isEnded).toBe(false);
    leave("a");
    expect([feed.has("a"), stream.isEnded]).toEqual([false, true]);
    join(web("a"));
    expect([feed.has("a"), stream.isEnded]).toEqual([true, true]);
  });

  it("only if it may read its state and exists in the scope", () => {
    const { feed, join } = openFeed({ clusters: ["a", "c"] });
    join(web("a"), web("b"), web("c"));
    expect(["a", "b", "c"].filter((clusterId) => feed.has(clusterId))).toEqual(["a"]);
  });

  it("with the namespaces of the scope", () => {
    const { feed, join, read } = openFeed({ namespaces: ["shop"] });
    const exports = { "shop/web": exported(), "secret/db": exported() };
    join(snapshot("a", { namespaces: { shop: {}, secret: {} }, exports }));
    expect([...feed.namespacesOf("a")]).toEqual(["shop"]);
    expect(read()).toEqual(["snapshot", "import shop/web", "export shop/web", "position"]);
  });
});

describe("a stream", () => {
  it("has the export that a finding is about, and nothing for any other finding", () => {
    const { feed, join, read, errors } = openFeed();
    join(invalid("a"), invalid("b", "PortOutOfRange"));
    const stream = feed.open("a", undefined);
    expect(read(stream)).toEqual(["snapshot", "export shop/db", "position"]);
    expect(read(feed.open("b", undefined))).toEqual(["snapshot", "position"]);
    join(invalid("a", "PortOutOfRange"));
    expect(read(stream)).toEqual(["export shop/db none", "position"]);
    join(invalid("a"));
    expect([read(stream), errors]).toEqual([["export shop/db", "position"], []]);
  });

  it("goes on with the lines that it has of a service that cannot be derived; a new one fails", () => {
    const { join, read, errors, failing, feed } = openFeed();
    join(web("a"), web("c"));
    const stream = feed.open("a", undefined);
    const before = ["import shop/web", "slice shop/web a", "slice shop/web c"];
    expect(read(stream)).toEqual(expect.arrayContaining(before));
    failing.add("c");
    join(snapshot("a", { exports: { "shop/db": exported() } }));
    expect(read(stream)).toEqual(["import shop/db", "export shop/db", "position"]);
    expect(errors.map(String)).toEqual(["Error: cannot derive c"]);
    expect(() => read()).toThrow("cannot derive c");
  });
});

it("leases are whole seconds of the cluster and of the exporters in its namespaces that are live", () => {
  const { feed, join, leases } = openFeed();
  const elsewhere = snapshot("d", { namespaces: { bank: {} }, exports: { "bank/till": exported() } });
  join(snapshot("a"), web("b"), web("c"), elsewhere);
  for (const [clusterId, expiresAt] of [
    ["a", 12_999],
    ["b", 9000],
    ["d", 20_000],
  ] as const)
    leases.set(clusterId, expiresAt);
  expect(feed.leases("a", 10_000)).toStrictEqual({ a: 2, b: 0 });
  leases.set("c", 70_000);
  expect(feed.leases("a", 10_000)).toStrictEqual({ a: 2, b: 0, c: 60 });
  expect(feed.leases("d", 10_000)).toStrictEqual({ d: 10 });
});
