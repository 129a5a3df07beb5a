import { beforeAll, describe, expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, port, snapshot } from "../../merge/fixtures.ts";
import { twoClusters } from "../../resolve/world.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";

/**
 * `west` disagrees on `shop/web`, exports `ops/tool` without the namespace `ops`, and cannot export
 * `shop/partner`.
 */
function disagreeing(): ClusterSnapshot[] {
  const [east, west] = twoClusters() as [ClusterSnapshot, ClusterSnapshot];
  return [
    east,
    {
      ...west,
      exports: {
        ...west.exports,
        "shop/web": { ...west.exports["shop/web"]!, sessionAffinity: "ClientIP" },
        "ops/tool": exported({ ports: [port("http", 80)] }),
      },
      findings: {
        "ServiceExport/shop/partner/InvalidServiceType": {
          kind: "ServiceExport",
          namespace: "shop",
          name: "partner",
          reason: "InvalidServiceType",
          message: "an ExternalName Service cannot be exported",
        },
        "EndpointSlice/shop/web-abc/InvalidAddress": {
          kind: "EndpointSlice",
          namespace: "shop",
          name: "web-abc",
          reason: "InvalidAddress",
          message: "an address cannot be read",
        },
      },
    },
  ];
}

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(disagreeing());
});

describe("/services/<namespace>/<name>", () => {
  it("shows type, ports, the addresses that DNS answers with, and the view", async () => {
    const { status, text } = await world.page("/services/shop/web");
    expect(status).toBe(200);
    expect(text).toContain("Answered with 3 addresses.");
    expect(text).toContain("Type ClusterSetIP");
    expect(text).toContain("Addresses spec.ips of the ServiceImport of east, west");
    expect(text).toContain("Ports https:443/TCP, dns:53/UDP, 9999/TCP");
    expect(text).toContain("View seen from outside; 2 of 2 clusters live");
  });

  it("has the names to query, in every zone and of every port, to copy and to look up", async () => {
    const { html, links } = await world.page("/services/shop/web");
    for (const [name, type] of [
      ["web.shop.svc.clusterset.test", "A"],
      ["web.shop.svc.clusterset.local", "A"],
      ["_https._tcp.web.shop.svc.clusterset.test", "SRV"],
      ["_dns._udp.web.shop.svc.clusterset.test", "SRV"],
    ]) {
      expect(html).toContain(`<code data-copy>${name}</code>`);
      expect(links).toContain(`/?name=${name}&type=${type}#answer`);
    }
  });

  it("has the names of a headless service's endpoints", async () => {
    const { html, text } = await world.page("/services/shop/db");
    for (const host of ["db-0.east", "db-1.east", "db-0.west", "db-1.west"])
      expect(html).toContain(`<code data-copy>${host}.db.shop.svc.clusterset.test</code>`);
    expect(text).toContain("db-1.west.db.shop.svc.clusterset.test A, AAAA: one endpoint");
  });

  it("shows each cluster with its export, endpoints, addresses and lease", async () => {
    await world.clock.advance(7000);
    const { text, links } = await world.page("/services/shop/web");
    expect(text).toContain("east 2026-01-01T00:00:00Z 1 10.200.0.1 , fd00::c8:1 53 s left");
    expect(text).toContain("west 2026-02-01T00:00:00Z 0 10.201.0.1 53 s left");
    expect(links).toEqual(expect.arrayContaining(["/clusters/east", "/clusters/west"]));
    const db = await world.page("/services/shop/db");
    expect(db.text).toContain("west 2026-01-01T00:00:00Z 3 10.2.0.1 , 10.2.0.2 , 2001:db8:2::1 53 s left");
  });

  it("shows who decides which property, what was set aside, and the conflicts", async () => {
    const { text } = await world.page("/services/shop/web");
    expect(text).toContain(
      "sessionAffinity None east it has the oldest ServiceExport, since 2026-01-01T00:00:00Z west: ClientIP",
    );
    expect(text).toContain(
      'Conflicting sessionAffinity. Using "None" from oldest service export in "east". 1/2 clusters disagree. Set aside: west.',
    );
    expect((await world.page("/services/shop/db")).text).toContain("No conflict and no finding");
  });

  it("shows why an exported service is not served", async () => {
    const { status, text } = await world.page("/services/ops/tool");
    expect(status).toBe(200);
    expect(text).toContain("NoNamespace");
    const partner = await world.page("/services/shop/partner");
    expect(partner.status).toBe(200);
    expect(partner.text).toContain("an ExternalName Service cannot be exported");
  });

  it("shows the view of a cluster, and keeps it in the links", async () => {
    const { text, html, links } = await world.page("/services/shop/web?view=west");
    expect(text).toContain("seen from west");
    expect(text).toContain("west 2026-02-01T00:00:00Z 0 10.201.0.1");
    expect(text).not.toContain("10.200.0.1");
    expect(html).toContain("<option selected>west</option>");
    expect(links).toContain("/?name=web.shop.svc.clusterset.test&type=A&view=west#answer");
    expect(links).toContain("/services/shop/web");
    const lacking = await world.page("/services/ops/log?view=west");
    expect(lacking.text).toContain("The cluster of this view (west) does not have the namespace ops.");
  });

  it("is 404 for a service that nobody exports, with similar ones", async () => {
    const { status, text, links } = await world.page("/services/shop/wbe");
    expect(status).toBe(404);
    expect(text).toContain("no cluster exports a service wbe in it");
    expect(links).toContain("/?name=web.shop.svc.clusterset.test.#answer");
  });

  it.each([
    ["/services/shop/we%2Eb", "does not name a service"],
    ["/services/shop/%3Cb%3E", "does not name a service"],
    [`/services/shop/${"a".repeat(64)}`, "does not name a service"],
    ["/services/shop/web?view=none", 'No cluster "none" has pushed'],
    ["/clusters/%FF", "No cluster with this id has pushed"],
  ])("is 404 for %s", async (path, said) => {
    const { status, text } = await world.page(path);
    expect(status).toBe(404);
    expect(text).toContain(said);
  });

  it("shows what a host without merged services knows, and says what it cannot tell", async () => {
    const served = world.gateway.everything.current()!;
    const listed = () => ({ world: served.world });
    const secondary = await pagesWorld(disagreeing(), { listed });
    const { status, text, html } = await secondary.page("/services/shop/web");
    expect(status).toBe(200);
    expect(text).toContain("Answered with 3 addresses.");
    expect(text).toContain("Ports _dns._udp 53, _https._tcp 443");
    expect(html).toContain("<code data-copy>_https._tcp.web.shop.svc.clusterset.test</code>");
    expect(text).toContain("Cluster Lease east 60 s left west 60 s left All addresses: ");
    for (const address of ["10.200.0.1", "10.201.0.1", "fd00::c8:1"]) expect(text).toContain(address);
    expect(text).toContain("are known to the primary");
    expect(text).not.toContain("No conflict");
    expect((await secondary.page("/clusters/east")).text).toContain(
      "The exports of a cluster are known to the primary",
    );
  });
});

describe("/clusters/<cluster id>", () => {
  it("shows state, age, lease and counts", async () => {
    const fresh = await pagesWorld(disagreeing());
    await fresh.clock.advance(20_000);
    const { status, text } = await fresh.page("/clusters/west");
    expect(status).toBe(200);
    expect(text).toContain("Cluster west");
    expect(text).toContain("live Last seen 20 s ago Lease 40 s left, unless the worker renews it");
    expect(text).toContain("Snapshot 20 s old Reports 3 exports, 1 import");
    await fresh.gateway.renew("east", fresh.gateway.everything.status().clusters[0]!.generation, {
      leaseSeconds: 600,
    });
    await fresh.clock.advance(50_000);
    expect((await fresh.page("/clusters/west")).text).toContain("expired, its names are withdrawn");
  });

  it("links what it exports, with type and who decides", async () => {
    const { text, links } = await world.page("/clusters/west");
    expect(text).toContain("shop/web ClusterSetIP · properties decided by east");
    expect(text).toContain("shop/db Headless");
    expect(links).toEqual(expect.arrayContaining(["/services/shop/web", "/services/shop/db"]));
    expect(text).not.toContain("ops/log");
    expect((await world.page("/clusters/east")).text).toContain("shop/web ClusterSetIP Other findings");
  });

  it("shows what it exports that is not served and why, before the other findings", async () => {
    const { text } = await world.page("/clusters/west");
    const [served, other] = text.split("Other findings") as [string, string];
    expect(served).toContain("Exported, but not served");
    expect(served).toContain(
      "shop/partner ServiceExport of west : an ExternalName Service cannot be exported (InvalidServiceType)",
    );
    expect(served).toContain("ops/tool");
    expect(served).toContain("(NoNamespace)");
    expect(served).toContain("ops/tool not served");
    expect(other).toContain("web-abc");
    expect(other).not.toContain("partner");
    const { text: east } = await world.page("/clusters/east");
    expect(east).not.toContain("Exported, but not served");
    expect(east).toContain("No other finding.");
  });

  it("pages through many exports by name", async () => {
    const names = Array.from({ length: 120 }, (_, index) => `shop/s-${String(index).padStart(3, "0")}`);
    const group = endpoints({ address: "10.1.0.1" });
    const many = await pagesWorld([
      snapshot("east", {
        exports: Object.fromEntries(names.toReversed().map((key) => [key, exported({ endpoints: group })])),
      }),
    ]);
    const first = await many.page("/clusters/east");
    expect(first.text).toContain("shop/s-000");
    expect(first.text).not.toContain("shop/s-050");
    expect(first.links).toContain("/clusters/east?page=2");
    expect((await many.page("/clusters/east?page=3")).text).toContain("shop/s-119");
  });
});

describe("the example", () => {
  it("is not a service on which clusters disagree", async () => {
    const contested = snapshot("west", {
      exports: { "shop/api": exported({ sessionAffinity: "ClientIP" }) },
    });
    const both = {
      "shop/api": exported({ endpoints: endpoints({ address: "10.1.0.1" }) }),
      "shop/web": exported({ endpoints: endpoints({ address: "10.1.0.2" }) }),
    };
    const some = await pagesWorld([snapshot("east", { exports: both }), contested]);
    const { text, links } = await some.page("/");
    expect(text).toContain("Conflicting sessionAffinity");
    expect(text).toContain("For example web.shop.svc.clusterset.test .");
    expect(links).toContain("/?name=web.shop.svc.clusterset.test&type=A#answer");
    expect((await some.page("/setup")).text).toContain("resolve?name=web.shop.svc.clusterset.test");
    const alone = await pagesWorld([
      snapshot("east", { exports: { "shop/api": both["shop/api"] } }),
      contested,
    ]);
    expect((await alone.page("/")).text).toContain("For example api.shop.svc.clusterset.test .");
  });
});
