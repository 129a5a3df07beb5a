import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import { parseAddressRanges } from "../../../src/dns/address.ts";
import { LocalZones } from "../../../src/forward/local.ts";
import { Outside, type OutsidePolicy } from "../../../src/forward/outside.ts";
import { metricsSource } from "../../../src/http/metrics/metric.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import { type ForwarderChanges, fakeForwarder, saysInTurn, withEdns } from "../../forward/fake-forwarder.ts";
import { addressOf, dead, decoded, type Handler, queryFor } from "../../forward/fake-upstreams.ts";
import { compileWorld } from "../../resolve/ask.ts";
import { twoClusters } from "../../resolve/world.ts";
import { base64url, cluster, NOW } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

const NAME = "www.example.com";
const OURS = "web.shop.svc.clusterset.local";
const DNS = "application/dns-message";

function appOf(
  policies: { default?: OutsidePolicy; byPath?: Record<string, OutsidePolicy> } = {},
  servers: Record<string, Handler> = { one: addressOf("192.0.2.1") },
  changes: ForwarderChanges = {},
  clients?: readonly string[],
) {
  const world = compileWorld(twoClusters());
  const gateway = {
    answer: (query: Uint8Array, view: string | undefined) => resolve(query, { ...world, view }),
    hasCluster: (clusterId: string) => clusterId === "cluster-a",
    status: () => ({
      ready: true,
      stateHash: "00",
      compiledBytes: 1,
      services: 1,
      clusters: [cluster("cluster-a")],
    }),
  };
  const { forwarder, asked, clock } = fakeForwarder(servers, changes);
  const localZones = new LocalZones({ own: ["clusterset.local"], also: [], except: [] });
  const counters = new QueryCounters();
  const app = openApp({
    gateway,
    counters,
    allowedOrigins: "*",
    outside: new Outside({
      given: "refuse",
      localZones,
      forwarder,
      clients: clients && parseAddressRanges(clients),
    }),
    policies: {
      default: policies.default ?? "forward",
      byPath: new Map(Object.entries(policies.byPath ?? {})),
    },
  });
  const from = { address: "192.0.2.77", certificate: "none" } as const;
  const get = (path: string, headers: Record<string, string> = { accept: DNS }) =>
    app.request(path, { headers }, from);
  const ask = async (name: string, path = "/dns-query", type = "A") => {
    const response = await get(`${path}?dns=${base64url(queryFor(name, withEdns, type))}`);
    return { response, packet: decoded(new Uint8Array(await response.arrayBuffer())) };
  };
  const json = async (name: string, path = "/resolve") =>
    (await get(`${path}?name=${name}`, {})).json() as Promise<Record<string, unknown>>;
  return { app, get, ask, json, asked, clock, counters, forwarder };
}

describe("a name out of zone", () => {
  it("may be read by pages of other origins, unless the client's address is what admits it to upstreams", async () => {
    const readers = async (clients?: readonly string[]) => {
      const { ask, get } = appOf({}, undefined, {}, clients);
      const responses = [
        (await ask(NAME)).response,
        await get(`/resolve?name=${NAME}`, {}),
        (await ask(OURS)).response,
      ];
      return responses.map(({ headers }) => headers.get("access-control-allow-origin"));
    };
    expect(await readers()).toEqual(["*", "*", "*"]);
    expect(await readers(["192.0.2.0/24"])).toEqual([null, null, "*"]);
  });

  it("is forwarded; HTTP caches may store it for its TTL (RFC 8484 section 5.1)", async () => {
    const { ask, clock } = appOf();
    const { response, packet } = await ask(NAME);
    expect(packet).toMatchObject({
      flag_ra: true,
      flag_aa: false,
      answers: [{ data: "192.0.2.1", ttl: 30 }],
    });
    expect(response.headers.get("cache-control")).toBe("max-age=30");
    await clock.advance(12_000);
    const later = await ask(NAME);
    expect(later.packet.answers).toMatchObject([{ ttl: 18 }]);
    expect(later.response.headers.get("cache-control")).toBe("max-age=18");
  });
});

describe("the policy is the path's", () => {
  const policies = {
    default: "refuse",
    byPath: {
      "/resolve": "nxdomain",
      "/clusters": "nxdomain",
      "/everything": "forward",
      "/dns-query/all": "forward",
    },
  } as const;
  it.each([
    ["/dns-query", "REFUSED"],
    ["/everything", "NOERROR"],
    ["/dns-query/all", "NOERROR"],
    ["/clusters/cluster-a/dns-query", "NXDOMAIN"],
  ])("%s: %s", async (path, expected) => {
    const { ask } = appOf(policies);
    expect((await ask(NAME, path)).packet.rcode).toBe(expected);
    expect((await ask(OURS, path)).packet.rcode).toBe("NOERROR");
  });

  it("holds for JSON, also on configured paths", async () => {
    const { json } = appOf(policies);
    expect(await json(NAME)).toMatchObject({ Status: 3 });
    expect(await json(NAME, "/dns-query")).toMatchObject({ Status: 5 });
    expect(await json(NAME, "/everything")).toMatchObject({ Status: 0, Answer: [{ data: "192.0.2.1" }] });
    expect(await json(NAME, "/clusters/cluster-a/resolve")).toMatchObject({ Status: 3 });
  });
});

describe("the Comment of JSON", () => {
  it("names the upstream and the age of the answer", async () => {
    const { json, clock } = appOf({}, { "dns.example.net": saysInTurn(addressOf("192.0.2.1"), dead) });
    expect((await json(NAME)).Comment).toBe("forwarded to dns.example.net");
    await clock.advance(12_400);
    expect((await json(NAME)).Comment).toBe("forwarded to dns.example.net; cached 12 s ago");
    await clock.advance(3_600_000);
    expect((await json(NAME)).Comment).toBe(
      "Extended DNS Error 3 (Stale Answer); forwarded to dns.example.net; cached 3612 s ago; stale: no newer answer was available",
    );
  });

  it("reports that no upstream answered", async () => {
    expect((await appOf({}, { dead }).json(NAME)).Comment).toBe(
      "Extended DNS Error 23 (Network Error); forwarded, but no upstream answered",
    );
  });
});

describe("a client over the limit on forwarded names", () => {
  it("gets 429 with Retry-After (RFC 6585 section 4), and still gets names in the zones", async () => {
    const { get, ask, json, counters } = appOf({}, undefined, {
      clients: { queriesPerSecond: 0.5, burst: 1 },
    });
    await ask(NAME);
    const refused = await get(`/dns-query?dns=${base64url(queryFor("other.example.com"))}`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await refused.text()).toContain("queries too many forwarded names");
    expect((await get("/resolve?name=other.example.com", {})).status).toBe(429);
    expect((await ask(NAME)).response.status).toBe(200);
    expect((await ask(OURS)).packet.rcode).toBe("NOERROR");
    expect(await json(OURS)).toMatchObject({ Status: 0 });
    expect(Object.fromEntries(counters.rejected)).toEqual({ 429: 2 });
    expect([...counters.queries()].reduce((sum, { count }) => sum + count, 0)).toBe(4);
  });
});

it("metrics show the outcomes of queries and the health of upstreams", async () => {
  const { ask, forwarder, counters, clock } = appOf(
    {},
    { "dead:53": dead, "one:53": addressOf("192.0.2.1") },
  );
  await ask(NAME);
  await clock.advance(100);
  await ask(NAME);
  await ask("localhost");
  const status = {
    status: () => ({ ready: true, stateHash: "", compiledBytes: 1, services: 1, clusters: [] }),
  };
  const text = await metricsSource(() =>
    readMetrics({ gateway: status, counters, clock: () => NOW, forwarder }),
  ).render();
  for (const line of [
    'clusterset_doh_outside_queries_total{result="miss"} 1',
    'clusterset_doh_outside_queries_total{result="hit"} 1',
    'clusterset_doh_outside_queries_total{result="local"} 1',
    'clusterset_doh_upstream_failures_total{upstream="dead:53"} 1',
    'clusterset_doh_upstream_failures_total{upstream="one:53"} 0',
    'clusterset_doh_upstream_up{upstream="dead:53"} 0',
    'clusterset_doh_upstream_up{upstream="one:53"} 1',
    'clusterset_doh_upstream_duration_seconds_bucket{upstream="one:53",le="+Inf"} 1',
    'clusterset_doh_upstream_duration_seconds_count{upstream="one:53"} 1',
    "clusterset_doh_upstream_hedges_total 0",
    "clusterset_doh_cached_answers 1",
  ])
    expect(text.split("\n")).toContain(line);
});
