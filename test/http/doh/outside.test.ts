import { describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/answer-query.ts";
import { parseAddressRanges } from "../../../src/dns/address.ts";
import { LocalZones } from "../../../src/forward/local.ts";
import { Outside, type OutsidePolicy } from "../../../src/forward/outside.ts";
import { createFetchUpstream } from "../../../src/http/doh/fetch-upstream.ts";
import { metricsSource } from "../../../src/http/metrics/metric.ts";
import { readMetrics } from "../../../src/http/metrics/table.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import { type ForwarderChanges, fakeForwarder, saysInTurn, withEdns } from "../../forward/fake-forwarder.ts";
import { addressOf, dead, decoded, type Handler, queryFor } from "../../forward/fake-upstreams.ts";
import { compileWorld } from "../../resolve/ask.ts";
import { twoClusters } from "../../resolve/world.ts";
import { base64url, FakeGateway, NOW } from "../fake-gateway.ts";
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
  const gateway = Object.assign(new FakeGateway(), {
    answer: (query: Uint8Array, view: string | undefined) => resolve(query, { ...world, view }),
  });
  const { forwarder, clock } = fakeForwarder(servers, changes);
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
  return { get, ask, json, clock, counters, forwarder, gateway };
}

describe("a name out of zone", () => {
  it("may be read by pages of other origins, and kept by shared caches, unless the client's address is what admits it to upstreams", async () => {
    const readers = async (clients?: readonly string[]) => {
      const { ask, get } = appOf({}, undefined, {}, clients);
      const responses = [
        (await ask(NAME)).response,
        await get(`/resolve?name=${NAME}`, {}),
        (await ask(OURS)).response,
      ];
      return responses.map(({ headers }) =>
        ["access-control-allow-origin", "cache-control"].map((name) => headers.get(name)),
      );
    };
    const shared = ["*", "max-age=30"];
    const ours = ["*", "max-age=5"];
    expect(await readers()).toEqual([shared, shared, ours]);
    const alone = [null, "private, max-age=30"];
    expect(await readers(["192.0.2.0/24"])).toEqual([alone, alone, ours]);
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
    ["/dns-query", "REFUSED", 5],
    ["/everything", "NOERROR", 0],
    ["/dns-query/all", "NOERROR", 0],
    ["/clusters/cluster-a/dns-query", "NXDOMAIN", 3],
    ["/resolve", undefined, 3],
    ["/clusters/cluster-a/resolve", undefined, 3],
  ])("%s: %s, in JSON %i", async (path, expected, status) => {
    const { ask, json } = appOf(policies);
    expect(await json(NAME, path)).toMatchObject({ Status: status });
    if (expected === undefined) return;
    expect((await ask(NAME, path)).packet.rcode).toBe(expected);
    expect((await ask(OURS, path)).packet.rcode).toBe("NOERROR");
  });
});

it("the Comment of JSON names the upstream and the age of the answer, or reports that no upstream answered", async () => {
  const { json, clock } = appOf({}, { "dns.example.net": saysInTurn(addressOf("192.0.2.1"), dead) });
  expect((await json(NAME)).Comment).toBe("forwarded to dns.example.net");
  await clock.advance(12_400);
  expect((await json(NAME)).Comment).toBe("forwarded to dns.example.net; cached 12 s ago");
  await clock.advance(3_600_000);
  expect((await json(NAME)).Comment).toBe(
    "Extended DNS Error 3 (Stale Answer); forwarded to dns.example.net; cached 3612 s ago; stale: no newer answer was available",
  );
  expect((await appOf({}, { dead }).json(NAME)).Comment).toBe(
    "Extended DNS Error 23 (Network Error); forwarded, but no upstream answered",
  );
});

it("a client over the limit on forwarded names gets 429 with Retry-After (RFC 6585 section 4), and still gets names in the zones", async () => {
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

it("metrics show the outcomes of queries and the health of upstreams", async () => {
  const { ask, forwarder, counters, clock, gateway } = appOf(
    {},
    { "dead:53": dead, "one:53": addressOf("192.0.2.1") },
  );
  await ask(NAME);
  await clock.advance(100);
  await ask(NAME);
  await ask("localhost");
  const text = await metricsSource(() =>
    readMetrics({ gateway, counters, clock: () => NOW, forwarder }),
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

const URL_ = new URL("https://dns.example.net/dns-query?profile=1");
const QUERY = queryFor("www.example.com", { id: 0 });

const signal = new AbortController().signal;
const body = (bytes: Uint8Array, headers: Record<string, string> = {}, status = 200) =>
  new Response(new Uint8Array(bytes), { status, headers: { "content-type": DNS, ...headers } });
const exchange = (respond: (url: string, request: RequestInit) => Response | Promise<Response>) =>
  createFetchUpstream("one", URL_, async (...sent) => respond(...sent)).exchange(QUERY, signal);

describe("DNS over HTTPS by fetch (RFC 8484)", () => {
  it("posts the query unchanged, follows no redirect, and subtracts the Age of the response from TTLs (section 5.1)", async () => {
    const sent: [string, RequestInit][] = [];
    const answer = await exchange(async (...request) => {
      sent.push(request);
      const headers = { "content-type": `${DNS}; charset=binary`, age: "12" };
      return body(await addressOf("192.0.2.1")(QUERY, signal), headers);
    });
    expect(decoded(answer).answers).toMatchObject([{ data: "192.0.2.1", ttl: 18 }]);
    const headers = { "content-type": DNS, accept: DNS };
    expect(sent).toEqual([[URL_.href, { method: "POST", headers, body: QUERY, redirect: "manual", signal }]]);
  });

  it.each([
    ["another status", () => body(QUERY, {}, 503), "HTTP 503"],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/" } }), "HTTP 302"],
    ["another type", () => body(QUERY, { "content-type": "text/html" }), "HTTP 200 with text/html"],
    ["no type", () => new Response(null), "HTTP 200 with "],
    ["more than a DNS message", () => body(new Uint8Array(65_536)), "longer than a DNS message"],
  ])("rejects an answer with %s", async (_, respond, message) => {
    await expect(exchange(respond)).rejects.toThrow(message);
  });

  it("accepts the longest answer", async () => {
    expect(await exchange(() => body(new Uint8Array(65_535)))).toHaveLength(65_535);
  });
});
