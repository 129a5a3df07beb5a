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
  it("from the update after it joins to the moment it leaves", () => {
    const { feed, join, leave, update } = openFeed();
    expect(feed.has("a")).toBe(false);
    join(web("a"));
    expect(feed.has("a")).toBe(false);
    update();
    expect([feed.has("a"), feed.namespacesOf("a")?.has("shop")]).toEqual([true, true]);
    leave("a");
    expect(feed.has("a")).toBe(false);
    update();
    expect(feed.namespacesOf("a")).toBeUndefined();
    join(web("a"));
    expect(feed.has("a")).toBe(false);
  });

  it("only if it may read its state and exists in the scope", () => {
    const { feed, join, update } = openFeed({ clusters: ["a", "c"] });
    join(web("a"), web("b"), web("c"));
    update();
    expect(["a", "b", "c"].filter((clusterId) => feed.has(clusterId))).toEqual(["a"]);
  });

  it("with the namespaces of the scope", () => {
    const { feed, join, update, read } = openFeed({ namespaces: ["shop"] });
    const exports = { "shop/web": exported(), "secret/db": exported() };
    join(snapshot("a", { namespaces: { shop: {}, secret: {} }, exports }));
    update();
    expect(["shop", "secret"].map((one) => feed.namespacesOf("a")?.has(one))).toEqual([true, false]);
    expect(read()).toEqual(["snapshot", "import shop/web", "export shop/web", "position"]);
  });
});

describe("an update", () => {
  it("derives the export that a finding is about, and nothing for any other finding", () => {
    const { join, update, read, errors } = openFeed();
    join(invalid("a"));
    expect(update()).toBe(1);
    expect(read()).toEqual(["snapshot", "export shop/db", "position"]);
    join(invalid("b", "PortOutOfRange"));
    expect([update(), errors]).toEqual([0, []]);
  });

  it("reports a service that it cannot derive and keeps its lines; other services follow", () => {
    const { join, update, read, errors, failing, feed } = openFeed();
    join(web("a"));
    join(web("c"));
    update();
    const before = ["import shop/web", "slice shop/web a", "slice shop/web c"];
    expect(read()).toEqual(expect.arrayContaining(before));
    failing.add("c");
    const stream = feed.open("a", undefined);
    read(stream);
    join(snapshot("a", { exports: { "shop/db": exported() } }));
    update();
    expect(errors.map(String)).toEqual(["Error: cannot derive c"]);
    expect(read(stream)).toEqual(["import shop/db", "export shop/db", "position"]);
    expect(read()).toEqual(expect.arrayContaining(before));
  });
});

it("leases are whole seconds of the cluster and of the exporters in its namespaces that are live", () => {
  const { feed, join, update, leases } = openFeed();
  const elsewhere = snapshot("d", { namespaces: { bank: {} }, exports: { "bank/till": exported() } });
  join(snapshot("a"), web("b"), web("c"), elsewhere);
  update();
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
