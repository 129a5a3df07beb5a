import { describe, expect, it } from "vitest";
import { type Client, createClientAddress } from "../../src/access/client.ts";
import { QueryCounters } from "../../src/answer/answer-query.ts";
import { createRequestGate } from "../../src/http/app.ts";
import { FetchRequest } from "../../src/http/messages/message.ts";
import { ClientRate } from "../../src/limits/client-rate.ts";
import { type OpenAppParts, openApp } from "./open-app.ts";

const NETWORK = { exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64, mostClients: 100 };

function open(given: { perSecond?: number; burst?: number; isHigh?: boolean; proxies?: string[] }) {
  const clock = { now: 0 };
  const load = { isHigh: given.isHigh ?? false };
  const counters = new QueryCounters();
  const { perSecond = 0, burst = 1, proxies = [] } = given;
  const gate = createRequestGate({
    ...(perSecond > 0 && { rate: new ClientRate({ ...NETWORK, perSecond, burst }, () => clock.now) }),
    clientAddress: createClientAddress({ trustedProxies: proxies, hops: 1, header: "x-forwarded-for" }),
    load,
    counters: counters.limits,
    dnsPaths: ["/everything"],
  });
  const pass = (url: string, address: string, headers: Record<string, string> = {}, method = "GET") =>
    gate!(new FetchRequest(new Request(url, { headers, method }), { address: address }));
  return { gate, pass, clock, load, counters };
}

const QUERY = "https://doh.example/dns-query?dns=AAAB";
const ONE = "192.0.2.1";

describe("requests of one client", () => {
  it("are rejected above its rate, until there is a token again", () => {
    const { pass, clock, counters } = open({ perSecond: 0.5, burst: 2 });
    expect([pass(QUERY, ONE), pass(QUERY, ONE)]).toEqual([undefined, undefined]);
    const refused = pass(QUERY, ONE);
    expect(refused).toMatchObject({ code: "TOO_MANY_REQUESTS", headers: { "retry-after": "2" } });
    expect(pass(QUERY, "192.0.2.2")).toBeUndefined();
    clock.now = 2000;
    expect(pass(QUERY, ONE)).toBeUndefined();
    expect(counters.limits.get("clients.requestsPerSecond")).toBe(1);
  });

  it("count for the address that a trusted proxy reports, and for no other", () => {
    const { pass } = open({ perSecond: 1, burst: 1, proxies: ["10.0.0.0/8"] });
    const from = (address: string, forwardedFor: string) =>
      pass(QUERY, address, { "x-forwarded-for": forwardedFor })?.code;
    expect([from("10.0.0.1", ONE), from("10.0.0.2", ONE), from("10.0.0.1", "192.0.2.2")]).toEqual([
      undefined,
      "TOO_MANY_REQUESTS",
      undefined,
    ]);
    // Who is no proxy has a bucket of its own, whatever it writes.
    expect([from(ONE, "192.0.2.9"), from(ONE, "192.0.2.10")]).toEqual([
      "TOO_MANY_REQUESTS",
      "TOO_MANY_REQUESTS",
    ]);
  });

  it.each(["healthz", "healthz?verbose"])("for /%s are always answered", (path) => {
    const { pass } = open({ perSecond: 1, burst: 1 });
    for (let round = 0; round < 5; round++) expect(pass(`https://doh.example/${path}`, ONE)).toBeUndefined();
  });

  it("pass where there is nothing to be counted: then there is no gate at all", () => {
    const counters = new QueryCounters();
    const gate = createRequestGate({ counters: counters.limits });
    expect(gate).toBeUndefined();
  });
});

describe("under overload", () => {
  it.each<[string, boolean, string?]>([
    ["/", true],
    ["/setup", true],
    ["/resolve?name=web.shop.svc.clusterset.test", true],
    ["/clusters/west/resolve?name=web.shop.svc.clusterset.test", true],
    ["/api/v1/clusters/west", true],
    ["/api/v1/clusters/west", true, "HEAD"],
    ["/api/v1/clusters/west", false, "DELETE"],
    ["/api/v1/clusters/west/snapshot", false, "PUT"],
    ["/api/v1/clusters/west/snapshot?leaseSeconds=60", false, "PATCH"],
    ["/api/v1/clusters/west/lease", false, "POST"],
    ["/federations/api/v1/clusters/west/lease", true, "POST"],
    ["/federations/west?x=/api/v1/clusters/west", true, "POST"],
    ["/api/v1/clusters/west/snapshot", true],
    ["/api/v1/clusters/west/snapshot?leaseSeconds=5#/dns-query", true],
    ["/api/v1/clusters/west/snapshot?x=/dns-query", true],
    ["/api/v1/transfer/state", false],
    ["/api/v1/transfer/state?scope=a", false, "HEAD"],
    ["/api/v1/transfer/segments/0123", false],
    ["/api/v1/transfer/state", true, "POST"],
    ["/federations/api/v1/transfer/state", true],
    ["/?x=/api/v1/transfer/state", true],
    ["/dns-query?dns=AAAB", false],
    ["/clusters/west/dns-query", false],
    ["/everything?dns=AAAB", false],
    ["/healthz", false],
    ["/readyz", false],
    ["/metrics", false],
    ["/tokens/t/dns-query", false],
    ["/tokens/t/clusters/west/dns-query?dns=AAAB", false],
    ["/tokens/t/metrics", false],
    ["/tokens/t", true],
    ["/services/shop/metrics", true],
    ["/x/healthz", true],
    ["/x/y/dns-query", true],
    ["/metrics/x", true],
  ])("%s has to wait: %s %s", (path, waits, method) => {
    const { pass, load, counters } = open({ isHigh: true });
    const refused = pass(`https://doh.example${path}`, ONE, {}, method);
    expect(refused?.code).toBe(waits ? "OVERLOADED" : undefined);
    if (waits) expect(refused).toMatchObject({ headers: { "retry-after": "5" } });
    expect(counters.limits.get("limits.loopDelayMilliseconds")).toBe(waits ? 1 : 0);
    load.isHigh = false;
    expect(pass(`https://doh.example${path}`, ONE, {}, method)).toBeUndefined();
  });
});

describe("an application", () => {
  const limited = (more: Partial<OpenAppParts> = {}) =>
    openApp({ ...more, rate: new ClientRate({ ...NETWORK, perSecond: 1, burst: 1 }, () => 0) });
  const client: Client = { address: ONE, certificate: "none" };

  it.each(["/dns-query?dns=AAAB", "/tokens/known/dns-query", "/", "/metrics", "/api/v1/clusters/west"])(
    "counts each request for %s once",
    async (path) => {
      const app = limited();
      expect((await app.request(path, {}, client)).status).not.toBe(429);
      expect((await app.request(path, {}, client)).status).toBe(429);
    },
  );

  it("rejects each in its own form", async () => {
    const counters = new QueryCounters();
    const app = limited({ counters });
    await app.request(QUERY, {}, client);
    const reject = async (path: string) => {
      const response = await app.request(path, {}, client);
      const { status, headers } = response;
      expect([status, headers.get("cache-control"), headers.get("retry-after")]).toEqual([
        429,
        "no-store",
        "1",
      ]);
      return response.text();
    };
    expect(await reject(QUERY)).toMatch(/^this client sends too many requests/);
    for (const path of ["/resolve?name=a", "/api/v1/clusters/west/lease", "/api/v1/nothing"])
      expect(JSON.parse(await reject(path))).toMatchObject({ code: "TOO_MANY_REQUESTS" });
    expect([...counters.rejected]).toEqual([
      [400, 1],
      [429, 4],
    ]);
  });

  it("limits requests that pass by the objects of the Fetch standard", async () => {
    const app = limited();
    const answer = app.handlerAt("/dns-query")!;
    const ask = async () => (await answer(new FetchRequest(new Request(QUERY), client))).status;
    expect([await ask(), await ask()]).toEqual([400, 429]);
  });
});
