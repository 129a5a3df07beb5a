import { afterEach, describe, expect, it, vi } from "vitest";
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

  it("or a stream of it has no services, whether it is new or resumes", () => {
    const { feed, join, update, leave, read } = openFeed();
    join(web("c"));
    update();
    expect(read()).toEqual(["snapshot", "position"]);
    join(web("a"));
    update();
    leave("a");
    update();
    const resumed = feed.open("a", feed.positionOf(feed.version));
    expect([resumed.isEnded, read(resumed)]).toEqual([true, ["changes", "position"]]);
  });
});

describe("a position", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("has the feed's name of 16 hexadecimal digits and the version", () => {
    vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => {
      (bytes as unknown as Uint8Array).set([0, 1, 2, 3, 10, 16, 254, 255]);
      return bytes;
    });
    expect(openFeed().feed.positionOf(7)).toBe("000102030a10feff.7");
  });

  it("resumes a stream only as the feed wrote it, and from a version that it has", () => {
    const { feed, join, update, read } = openFeed();
    for (let times = 0; times < 12; times++) {
      join(snapshot("a"));
      update();
    }
    const now = feed.positionOf(feed.version);
    const [name, version] = now.split(".");
    expect(version).toBe("13");
    const startOf = (position: string) => read(feed.open("a", position))[0];
    expect(startOf(now)).toBe("changes");
    for (const position of [
      ...["", name!, `${name}.`, version!, `.${version}`, `0000000000000000.${version}`, `${name}.14`],
      ...[`${now}.`, `${now}.1`, `${name}.+13`, `${name}. 13`, `${name}.13 `, `${name}.13e0`],
      ...[`${name}.0000000000000013`, `${name}.1e1`, `${name}.0xd`],
    ])
      expect([position, startOf(position)]).toEqual([position, "snapshot"]);
  });

  it("older than the cluster's last joining begins anew", () => {
    const { feed, join, update, read } = openFeed();
    join(web("a"));
    update();
    join(web("b"));
    update();
    expect(["a", "b", "c"].map((clusterId) => feed.forgotten(clusterId))).toEqual([2, 3, 0]);
    expect(read(feed.open("a", feed.positionOf(2)))[0]).toBe("changes");
    expect(read(feed.open("b", feed.positionOf(2)))[0]).toBe("snapshot");
    expect(read(feed.open("b", feed.positionOf(3)))[0]).toBe("changes");
  });
});

describe("an update", () => {
  it("makes one version of all changes, a step a service, and none of no change", () => {
    const { feed, join, update } = openFeed();
    expect([update(), feed.version]).toEqual([0, 1]);
    join(web("a"), web("b"), snapshot("c", { exports: { "shop/db": exported() } }));
    expect([update(), feed.version]).toEqual([2, 2]);
    expect([update(), feed.version]).toEqual([0, 2]);
  });

  it("makes no version of clusters that do not read their state, as long as they touch no service", () => {
    const { feed, join, update, leave } = openFeed();
    join(snapshot("c"));
    leave("c");
    join(invalid("c"));
    expect([update(), feed.version]).toEqual([0, 1]);
  });

  it("derives the export that a finding is about, and nothing for any other finding", () => {
    const { join, update, read, errors } = openFeed();
    join(invalid("a"));
    expect(update()).toBe(1);
    expect(read()).toEqual(["snapshot", "export shop/db", "position"]);
    join(invalid("b", "PortOutOfRange"));
    expect([update(), errors]).toEqual([0, []]);
  });

  it("takes back an invalid export that is none when the cluster comes back", () => {
    const { join, update, leave, read } = openFeed();
    join(invalid("a"));
    update();
    leave("a");
    update();
    join(snapshot("a"));
    update();
    expect(read()).toEqual(["snapshot", "position"]);
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

describe("a stream is woken", () => {
  const watched = (feed: ReturnType<typeof openFeed>["feed"], clusterId: string) => {
    const cursor = feed.open(clusterId, undefined);
    const seen = { cursor, woken: 0 };
    cursor.onWake(() => void seen.woken++);
    return seen;
  };

  it("by each update until it is closed", () => {
    const { feed, join, update } = openFeed();
    join(web("a"), web("b"));
    update();
    const [one, other] = [watched(feed, "a"), watched(feed, "b")];
    join(web("c"));
    update();
    one.cursor.close();
    join(snapshot("c"));
    update();
    expect([one.woken, other.woken]).toEqual([1, 2]);
  });

  it("and ends for good when its own cluster leaves", () => {
    const { feed, join, update, leave } = openFeed();
    join(web("a"), web("b"));
    update();
    const [one, other] = [watched(feed, "a"), watched(feed, "b")];
    leave("a");
    update();
    // Once by its end, and once by the update.
    expect([one.woken, other.woken]).toEqual([2, 1]);
    join(web("a"));
    update();
    expect([feed.has("a"), one.cursor.isEnded, other.cursor.isEnded]).toEqual([true, true, false]);
  });

  it("and ends when the feed closes; a later one ends at once", () => {
    const { feed, join, update } = openFeed();
    join(web("a"));
    update();
    const one = watched(feed, "a");
    expect(one.cursor.isEnded).toBe(false);
    feed.close();
    expect([one.woken, one.cursor.isEnded, feed.open("a", undefined).isEnded]).toEqual([1, true, true]);
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
