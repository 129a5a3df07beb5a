import { beforeAll, describe, expect, it } from "vitest";
import { clusterList } from "../../../src/http/pages/lists.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, imported, port, snapshot } from "../../merge/fixtures.ts";
import { twoClusters } from "../../resolve/world.ts";
import { accessWorld } from "../access/access-world.ts";
import { cluster, NOW } from "../fake-gateway.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";
import { expectPage, readPage } from "./read-page.ts";

const WEB = "web.shop.svc.clusterset.test";
const PARTNER = "an ExternalName Service cannot be exported";
const finding = (kind: string, name: string, reason: string, message: string) => ({
  [`${kind}/shop/${name}/${reason}`]: { kind, namespace: "shop", name, reason, message },
});

/** `west` disagrees on `shop/web`, lacks the namespace of `ops/tool`, and cannot export `shop/partner`. */
function disagreeing(): ClusterSnapshot[] {
  const [east, west] = twoClusters() as [ClusterSnapshot, ClusterSnapshot];
  const exports = {
    ...west.exports,
    "shop/web": { ...west.exports["shop/web"]!, sessionAffinity: "ClientIP" as const },
    "ops/tool": exported({ ports: [port("http", 80)] }),
  };
  const findings = {
    ...finding("ServiceExport", "partner", "InvalidServiceType", PARTNER),
    ...finding("EndpointSlice", "web-abc", "InvalidAddress", "an address cannot be read"),
  };
  return [east, { ...west, exports, findings }];
}

/** A cluster with many services. */
function crowd(count: number): ClusterSnapshot {
  const keys = Array.from({ length: count }, (_, index) => `shop/service-${String(index).padStart(5, "0")}`);
  const ip = (index: number) => `10.9.${index >> 8}.${index & 255}`;
  return snapshot("east", {
    exports: Object.fromEntries(keys.toReversed().map((key) => [key, exported()])),
    imports: Object.fromEntries(
      keys.map((key, index) => [key, imported({ ips: [ip(index)], ports: [port("http", 80)] })]),
    ),
  });
}

let world: PagesWorld;
let conflicting: PagesWorld;
beforeAll(async () => {
  [world, conflicting] = await Promise.all([pagesWorld(twoClusters()), pagesWorld(disagreeing())]);
  await conflicting.clock.advance(7000);
});

describe("the page of a service", () => {
  it.each<[string, string, (string | RegExp)[]]>([
    [
      "type, ports, view, the addresses that DNS answers with, and the names in every zone and of every port",
      "web",
      [
        "Answered with 3 addresses.",
        "Type ClusterSetIP",
        "Addresses spec.ips of the ServiceImport of east, west",
        "Ports https:443/TCP, dns:53/UDP, 9999/TCP",
        "View seen from outside; 2 of 2 clusters live",
        ...[
          [WEB, "A"],
          ["web.shop.svc.clusterset.local", "A"],
          [`_https._tcp.${WEB}`, "SRV"],
          [`_dns._udp.${WEB}`, "SRV"],
        ].flatMap(([name, type]) => [`<code data-copy>${name}</code>`, `/?name=${name}&type=${type}#answer`]),
      ],
    ],
    [
      "each cluster with its export, endpoints, addresses and lease, who decides which property, and conflicts",
      "web",
      [
        "east 2026-01-01T00:00:00Z 1 10.200.0.1 , fd00::c8:1 53 s left",
        "west 2026-02-01T00:00:00Z 0 10.201.0.1 53 s left",
        "/clusters/east",
        "/clusters/west",
        "sessionAffinity None east it has the oldest ServiceExport, since 2026-01-01T00:00:00Z west: ClientIP",
        'Conflicting sessionAffinity. Using "None" from oldest service export in "east". 1/2 clusters disagree. Set aside: west.',
      ],
    ],
    [
      "a headless one's endpoints with their names",
      "db",
      [
        ...["db-0.east", "db-1.east", "db-0.west", "db-1.west"].map(
          (host) => `<code data-copy>${host}.db.shop.svc.clusterset.test</code>`,
        ),
        "db-1.west.db.shop.svc.clusterset.test A, AAAA: one endpoint",
        "west 2026-01-01T00:00:00Z 3 10.2.0.1 , 10.2.0.2 , 2001:db8:2::1 53 s left",
        "No conflict and no finding",
      ],
    ],
    ["why it is not served", "partner", [PARTNER]],
    [
      "the view of a cluster, and keeps it in the links",
      "web?view=west",
      [
        "seen from west",
        "west 2026-02-01T00:00:00Z 0 10.201.0.1",
        /^(?!.*10\.200\.0\.1)/,
        "<option selected>west</option>",
        `/?name=${WEB}&type=A&view=west#answer`,
        "/services/shop/web",
      ],
    ],
  ])("shows %s", async (_, name, parts) => {
    expectPage(await conflicting.page(`/services/shop/${name}`), parts);
  });

  it("says what the namespace lacks: in a cluster that exports it, and in the cluster of the view", async () => {
    expectPage(await conflicting.page("/services/ops/tool"), ["NoNamespace"]);
    const lacking = "The cluster of this view (west) does not have the namespace ops.";
    expectPage(await conflicting.page("/services/ops/log?view=west"), [lacking]);
  });

  it.each([
    ["wbe", ["no cluster exports a service wbe in it", `/?name=${WEB}.#answer`]],
    ["we%2Eb", ["does not name a service"]],
    ["a".repeat(64), ["does not name a service"]],
    ["web?view=none", ['No cluster "none" has pushed']],
  ])("is 404 for %s", async (name, parts) => {
    expectPage(await conflicting.page(`/services/shop/${name}`), parts, 404);
  });
});

it("a host without merged services shows what it knows, and says what only the primary can tell", async () => {
  const { world: served } = conflicting.gateway.everything.current()!;
  const secondary = await pagesWorld(disagreeing(), { listed: () => ({ world: served }) });
  expectPage(await secondary.page("/services/shop/web"), [
    "Answered with 3 addresses.",
    "Ports _dns._udp 53, _https._tcp 443",
    `<code data-copy>_https._tcp.${WEB}</code>`,
    "Cluster Lease east 60 s left west 60 s left All addresses: ",
    ...["10.200.0.1", "10.201.0.1", "fd00::c8:1"],
    "are known to the primary",
    /^(?!.*No conflict)/,
  ]);
  expectPage(await secondary.page("/clusters/east"), ["The exports of a cluster are known to the primary"]);
  for (const path of ["/", "/conflicts"])
    expectPage(await secondary.page(path), [
      "Conflicts are known to the primary, which merges what clusters report",
      "Findings are known to the primary, which merges what clusters report",
    ]);
  expectPage(await secondary.page("/services"), ["Services are known to the primary"]);
});

describe("the page of a cluster", () => {
  it("shows state, age, lease and counts", async () => {
    const fresh = await pagesWorld(disagreeing());
    await fresh.clock.advance(20_000);
    expectPage(await fresh.page("/clusters/west"), [
      "Cluster west",
      "live Last seen 20 s ago Lease 40 s left, unless the worker renews it",
      "Snapshot 20 s old Reports 3 exports, 1 import",
    ]);
    await fresh.renew("east");
    await fresh.clock.advance(50_000);
    expectPage(await fresh.page("/clusters/west"), ["expired, its names are withdrawn"]);
  });

  it("links what it exports, with type and who decides, then what is not served and why, then other findings", async () => {
    expectPage(await conflicting.page("/clusters/west"), [
      "shop/web ClusterSetIP · properties decided by east",
      "shop/db Headless",
      "/services/shop/web",
      "/services/shop/db",
      /^(?!.*ops\/log)/,
      /Exported, but not served.*ops\/tool.*\(NoNamespace\).*Other findings.*web-abc/,
      "ops/tool not served",
      `shop/partner ServiceExport of west : ${PARTNER} (InvalidServiceType)`,
      /^(?!.*Other findings.*partner)/,
    ]);
    expectPage(await conflicting.page("/clusters/east"), [
      "shop/web ClusterSetIP Other findings",
      /^(?!.*Exported, but not served)/,
      "No other finding.",
    ]);
  });

  it("pages through many exports by name", async () => {
    const many = await pagesWorld([crowd(120)]);
    const first = ["shop/service-00000", /^(?!.*shop\/service-00050)/, "/clusters/east?page=2"];
    expectPage(await many.page("/clusters/east"), first);
    expectPage(await many.page("/clusters/east?page=3"), ["shop/service-00119"]);
  });
});

describe("lists", () => {
  it.each<[string, string, (string | RegExp)[]]>([
    [
      "a grid of services and clusters: exports, imports and leases, with names in the alias zone first",
      "/",
      [
        "Answering from 2 of 2 clusters.",
        "Service east live, 60 s west live, 60 s log.ops.svc.clusterset.test",
        "6 services.",
        / web\.shop\.svc\.clusterset\.test 10\.200\.0\.1.* exports imports exports imports /,
        /^(?:(?!clusterset\.local).)*clusterset\.test.*clusterset\.local/,
        `<option value="${WEB}">`,
        "/services/shop/web",
        "/clusters/east",
      ],
    ],
    [
      "services with their addresses and ports",
      "/services",
      [
        "10.200.0.1, 10.201.0.1, fd00::c8:1 · dns (udp) 53 · https (tcp) 443 exports imports exports imports",
        "db.shop.svc.clusterset.test 10.1.0.1, 10.1.0.2, 10.2.0.1, 10.2.0.2 and 2 more",
      ],
    ],
    [
      "that there is no conflict and no finding",
      "/conflicts",
      ["No conflict: all clusters agree.", "No finding: everything exported is served."],
    ],
  ])("show %s", async (_, path, parts) => {
    expectPage(await world.page(path), parts);
  });

  it("distinguish a silent cluster from a live one", async () => {
    const silent = await pagesWorld(twoClusters());
    await silent.renew("west");
    await silent.clock.advance(95_000);
    expectPage(await silent.page("/"), ["Answering from 1 of 2 clusters.", "east expired west live, 8 min"]);
    expectPage(await silent.page("/clusters"), [
      /east expired, its names are withdrawn .* Lease expired 35 s ago.* west live/,
    ]);
  });

  it("distinguish a cluster whose first push is not in the answers yet from an expired one", () => {
    const listed = (expiresAt: number) =>
      String(clusterList([cluster("east", { live: false, expiresAt })], NOW));
    expect(listed(NOW + 58_000)).toMatch(/pushed, not in the answers yet.*58 s left/s);
    expect(listed(NOW - 1000)).toMatch(/expired, its names are withdrawn.*expired 1 s ago/s);
  });

  it("show what happened to each cluster, with changed ranks and the services", async () => {
    const left = await pagesWorld(twoClusters());
    await left.gateway.leave("west");
    const page = await left.page("/");
    expectPage(page, [
      /What happened.*ago: west left : for example shop\/db shop\/web/,
      /What happened.*east joined, or came back , \d ranks changed : for example \w+\/\w+/,
    ]);
    expect(page.html.match(/<circle [^>]*class="loss"/g)).toHaveLength(1);
    expect(page.html.match(/<circle [^>]*class="push"/g)).toHaveLength(2);
  });

  it("order clusters by number", async () => {
    const clusters = ["east-10", "east-2", "east-1"].map((id) =>
      snapshot(id, { exports: { "shop/web": exported() } }),
    );
    const inOrder = "east-1 live, 60 s east-2 live, 60 s east-10 live";
    expectPage(await (await pagesWorld(clusters)).page("/services"), [inOrder]);
  });

  it("are small with 10,000 services, and have their number", async () => {
    const large = await pagesWorld([crowd(10_000)]);
    for (const [path, parts] of [
      ["/", ["/services", "All 10000 services"]],
      ["/services?page=200", ["service-09999.shop.svc.clusterset.test", "Page 200 of 200"]],
    ] as const) {
      const page = await large.page(path);
      expectPage(page, parts);
      expect(page.html.length).toBeLessThan(60_000);
    }
  });

  it("search services by words or a full name, and keep the search on all pages", async () => {
    const many = await pagesWorld([crowd(120), snapshot("west", { namespaces: { ops: {} } })]);
    for (const [search, part] of [
      ["service-00007", "1 service."],
      ["SHOP+service-0000", "10 services."],
      ["service-00007.shop.svc.clusterset.test.", "1 service."],
      ["nothing", "No service has a name with these words."],
      ["shop", "/services?q=shop&page=2"],
      ["shop&page=3", "service-00119"],
      ["shop&page=0", "Page 1 of 3"],
      ["shop&page=99", "/services?q=shop&page=3"],
    ] as const)
      expectPage(await many.page(`/services?q=${search}`), [part]);
    expect((await many.page("/services?q=shop&page=3")).links).not.toContain("/services?q=shop&page=4");
  });

  it("describe conflicts", async () => {
    expectPage(await conflicting.page("/conflicts"), [
      'shop/web Conflicting sessionAffinity. Using "None" from oldest service export in "east". 1/2 clusters disagree. Set aside: west.',
    ]);
  });
});

it("the example is not a service on which clusters disagree, unless there is no other", async () => {
  const one = exported({ endpoints: endpoints({ address: "10.1.0.1" }) });
  const contested = snapshot("west", { exports: { "shop/api": exported({ sessionAffinity: "ClientIP" }) } });
  const openWith = (exports: ClusterSnapshot["exports"]) =>
    pagesWorld([snapshot("east", { exports }), contested]);
  const some = await openWith({ "shop/api": one, "shop/web": one });
  expectPage(await some.page("/"), [
    "Conflicting sessionAffinity",
    `For example ${WEB} .`,
    `/?name=${WEB}&type=A#answer`,
  ]);
  expectPage(await some.page("/setup"), [`resolve?name=${WEB}`]);
  const alone = await openWith({ "shop/api": one });
  expectPage(await alone.page("/"), ["For example api.shop.svc.clusterset.test ."]);
});

it("texts of clusters are never markup", async () => {
  const evil = `<script>alert("1")</script>`;
  // The name of an object has no slash.
  const hostile = snapshot("east", {
    exports: { "shop/<img src=x>": exported() },
    findings: { one: { reason: evil, kind: evil, namespace: evil, name: evil, message: evil } as never },
  });
  const attacked = await pagesWorld([hostile]);
  for (const path of ["/", "/services", "/clusters", "/conflicts", "/setup"]) {
    const { html } = await attacked.page(path);
    expect(html, path).not.toMatch(/<script>alert|<img src=x/);
  }
  expect((await attacked.page("/conflicts")).text).toContain(evil);
});

describe("an unknown path", () => {
  const headers = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

  it("is a page with working links for a browser", async () => {
    const page = await readPage(await world.fetch("/nothing", headers));
    const lists = ["/", "/services", "/clusters", "/conflicts", "/setup"];
    expectPage(page, ["Nothing exists at this address.", ...lists], 404);
    for (const path of page.links.filter((link) => link.startsWith("/")))
      expect((await world.fetch(path)).status, path).toBe(200);
  });

  it("has links with the token of the path", async () => {
    const { ask } = await accessWorld();
    const response = await ask("/nothing", { prefix: "/tokens/phone" }, { headers });
    expectPage(await readPage(response), ["/tokens/phone/services"], 404);
  });
});
