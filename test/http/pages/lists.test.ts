import { describe, expect, it } from "vitest";
import { clusterList } from "../../../src/http/pages/lists.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { exported, imported, port, snapshot } from "../../merge/fixtures.ts";
import { twoClusters } from "../../resolve/world.ts";
import { pagesWorld } from "./pages-world.ts";

/** A cluster with many services. */
function crowd(count: number): ClusterSnapshot {
  const names = Array.from({ length: count }, (_, index) => `service-${String(index).padStart(5, "0")}`);
  return snapshot("east", {
    exports: Object.fromEntries(names.map((name) => [`shop/${name}`, exported()])),
    imports: Object.fromEntries(
      names.map((name, index) => [
        `shop/${name}`,
        imported({
          ips: [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`.replace("10.0.0.0", "10.9.9.9")],
          ports: [port("http", 80)],
        }),
      ]),
    ),
  });
}

describe("/", () => {
  it("is a grid of services and clusters: exports, imports and leases, with names in the alias zone", async () => {
    const { text, html, links } = await (await pagesWorld(twoClusters())).page("/");
    expect(text).toContain("Answering from 2 of 2 clusters.");
    expect(text).toContain("Service east live, 60 s west live, 60 s log.ops.svc.clusterset.test");
    expect(text).toContain("6 services.");
    expect(text).toMatch(
      / web\.shop\.svc\.clusterset\.test 10\.200\.0\.1.* exports imports exports imports /,
    );
    expect(html).toContain('<option value="web.shop.svc.clusterset.test">');
    expect(links).toContain("/services/shop/web");
    expect(links).toContain("/clusters/east");
    expect(text.indexOf("clusterset.test")).toBeLessThan(text.indexOf("clusterset.local"));
  });

  it("distinguishes a silent cluster from a live one", async () => {
    const world = await pagesWorld(twoClusters());
    const renewed = world.gateway.renew("west", world.gateway.everything.status().clusters[1]!.generation, {
      leaseSeconds: 600,
    });
    await world.clock.advance(0);
    await renewed;
    await world.clock.advance(95_000);
    const { text } = await world.page("/");
    expect(text).toContain("Answering from 1 of 2 clusters.");
    expect(text).toContain("east expired west live, 8 min");
    expect((await world.page("/clusters")).text).toMatch(
      /east expired, its names are withdrawn .* Lease expired 35 s ago.* west live/,
    );
  });

  it("shows what happened to each cluster, with changed ranks and the services", async () => {
    const world = await pagesWorld(twoClusters());
    await world.gateway.leave("west");
    const { text, html } = await world.page("/");
    const lines = text.split("What happened")[1]!;
    expect(lines).toContain("ago: west left : for example shop/db shop/web");
    expect(lines).toMatch(/east joined, or came back , \d ranks changed : for example \w+\/\w+/);
    expect(html.match(/<circle [^>]*class="loss"/g)).toHaveLength(1);
    expect(html.match(/<circle [^>]*class="push"/g)).toHaveLength(2);
  });

  it("marks an export that is not served, and orders clusters by number", async () => {
    const clusters = ["east-10", "east-2"].map((id) => snapshot(id, { exports: { "shop/web": exported() } }));
    const world = await pagesWorld([
      ...clusters,
      snapshot("east-1", { exports: { "ops/web": exported(), "shop/web": exported() } }),
    ]);
    const { text } = await world.page("/services");
    expect(text).toMatch(/east-1 live, 60 s east-2 live, 60 s east-10 live/);
  });

  it("distinguishes a cluster whose first push is not in the answers yet from an expired one", () => {
    const [generation, pushedAt, renewedAt] = [1, 8_000, 8_000];
    const pushed = {
      clusterId: "east",
      generation,
      pushedAt,
      renewedAt,
      live: false,
      exports: 1,
      imports: 0,
    };
    const text = String(clusterList([{ ...pushed, expiresAt: 68_000 }], 10_000));
    expect(text).toContain("pushed, not in the answers yet");
    expect(text).toContain("58 s left");
    const expired = String(clusterList([{ ...pushed, expiresAt: 9_000 }], 10_000));
    expect(expired).toContain("expired, its names are withdrawn");
    expect(expired).toContain("expired 1 s ago");
  });

  it("is small with 10,000 services, and shows their number", async () => {
    const world = await pagesWorld([crowd(10_000)]);
    const first = await world.page("/");
    expect(first.html.length).toBeLessThan(60_000);
    expect(first.links).toContain("/services");
    expect(first.text).toContain("All 10000 services");
    const list = await world.page("/services?page=200");
    expect(list.html.length).toBeLessThan(60_000);
    expect(list.text).toContain("service-09999.shop.svc.clusterset.test");
    expect(list.text).toContain("Page 200 of 200");
  });

  it("names lists that only the primary has", async () => {
    const world = await pagesWorld(twoClusters());
    const { world: served } = world.gateway.everything.current()!;
    const secondary = await pagesWorld(twoClusters(), {
      directory: (await import("../../../src/http/pages/directory.ts")).createDirectory(() => ({
        world: served,
      })),
    });
    for (const path of ["/", "/conflicts"]) {
      const { text } = await secondary.page(path);
      expect(text).toContain("Conflicts are known to the primary, which merges what clusters report");
      expect(text).toContain("Findings are known to the primary, which merges what clusters report");
    }
    expect((await secondary.page("/services")).text).toContain("Services are known to the primary");
  });
});

describe("/services", () => {
  it("searches by words or a full name, and keeps the search on all pages", async () => {
    const world = await pagesWorld([crowd(120), snapshot("west", { namespaces: { ops: {} } })]);
    expect((await world.page("/services?q=service-00007")).text).toContain("1 service.");
    expect((await world.page("/services?q=SHOP+service-0000")).text).toContain("10 services.");
    expect((await world.page("/services?q=service-00007.shop.svc.clusterset.test.")).text).toContain(
      "1 service.",
    );
    expect((await world.page("/services?q=nothing")).text).toContain(
      "No service has a name with these words.",
    );
    const first = await world.page("/services?q=shop");
    expect(first.links).toContain("/services?q=shop&page=2");
    const last = await world.page("/services?q=shop&page=3");
    expect(last.text).toContain("service-00119");
    expect(last.links).not.toContain("/services?q=shop&page=4");
    expect((await world.page("/services?q=shop&page=0")).text).toContain("Page 1 of 3");
    expect((await world.page("/services?q=shop&page=99")).links).toContain("/services?q=shop&page=3");
  });

  it("shows a service's addresses and ports", async () => {
    const { text } = await (await pagesWorld(twoClusters())).page("/services");
    expect(text).toContain(
      "10.200.0.1, 10.201.0.1, fd00::c8:1 · dns (udp) 53 · https (tcp) 443 exports imports exports imports",
    );
    expect(text).toMatch(
      /db\.shop\.svc\.clusterset\.test 10\.1\.0\.1, 10\.1\.0\.2, 10\.2\.0\.1, 10\.2\.0\.2 and 2 more/,
    );
  });
});

describe("/conflicts", () => {
  it("describes them", async () => {
    const disagreeing = twoClusters().map((cluster, index) => ({
      ...cluster,
      exports: {
        ...cluster.exports,
        "shop/web": exported({
          ...cluster.exports["shop/web"]!,
          headless: index === 1,
        }),
      },
    }));
    const { text } = await (await pagesWorld(disagreeing)).page("/conflicts");
    expect(text).toMatch(
      /shop\/web Conflicting type\. Using "ClusterSetIP" from oldest service export in "east"\. 1\/2 clusters disagree\. Set aside: west\./,
    );
  });

  it("says if there are none", async () => {
    const { text } = await (await pagesWorld([snapshot("east")])).page("/conflicts");
    expect(text).toContain("No conflict: all clusters agree.");
    expect(text).toContain("No finding: everything exported is served.");
  });
});

describe("texts of clusters", () => {
  it("are never markup", async () => {
    const evil = `<script>alert("1")</script>`;
    // The name of an object has no slash.
    const cluster = snapshot("east", {
      exports: { "shop/<img src=x>": exported() },
      findings: { one: { reason: evil, kind: evil, namespace: evil, name: evil, message: evil } as never },
    });
    const world = await pagesWorld([cluster]);
    for (const path of ["/", "/services", "/clusters", "/conflicts", "/setup"]) {
      const { html } = await world.page(path);
      expect(html, path).not.toMatch(/<script>alert|<img src=x/);
    }
    expect((await world.page("/conflicts")).text).toContain(evil);
  });
});
