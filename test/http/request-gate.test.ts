import { describe, expect, it } from "vitest";
import { type Client, createClientAddress } from "../../src/access/client.ts";
import { QueryCounters } from "../../src/answer/answer-query.ts";
import { createRequestGate } from "../../src/http/app.ts";
import { FetchRequest } from "../../src/http/messages/message.ts";
import { ClientRate } from "../../src/limits/client-rate.ts";
import { LimitCounters } from "../../src/limits/counters.ts";
import { type OpenAppParts, openApp } from "./open-app.ts";

const NETWORK = { exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64, mostClients: 100 };

const rate = () => new ClientRate({ ...NETWORK, perSecond: 1, burst: 1 }, () => 0);

/** Sends requests through a gate. */
function open(parts: Omit<Parameters<typeof createRequestGate>[0], "counters" | "dnsPaths">) {
  const counters = new LimitCounters();
  const gate = createRequestGate({ ...parts, counters, dnsPaths: ["/everything"] })!;
  const pass = (url: string, address: string, headers: Record<string, string> = {}, method = "GET") =>
    gate(new FetchRequest(new Request(url, { headers, method }), { address }));
  return { pass, counters };
}

const QUERY = "https://doh.example/dns-query?dns=AAAB";
const ONE = "192.0.2.1";

describe("requests of one client", () => {
  it("count for the address that a trusted proxy reports, and for no other", () => {
    const proxies = { trustedProxies: ["10.0.0.0/8"], hops: 1, header: "x-forwarded-for" };
    const { pass } = open({ rate: rate(), clientAddress: createClientAddress(proxies) });
    const from = (address: string, forwardedFor: string) =>
      pass(QUERY, address, { "x-forwarded-for": forwardedFor })?.code;
    expect([from("10.0.0.1", ONE), from("10.0.0.1", "192.0.2.2")]).toEqual([undefined, undefined]);
    // Who is no proxy has a bucket of its own, whatever it writes.
    expect([from("10.0.0.2", ONE), from(ONE, "192.0.2.9")]).toEqual(Array(2).fill("TOO_MANY_REQUESTS"));
  });

  it.each(["healthz", "healthz?verbose"])("for /%s are always answered", (path) => {
    const { pass } = open({ rate: rate() });
    for (let round = 0; round < 5; round++) expect(pass(`https://doh.example/${path}`, ONE)).toBeUndefined();
  });
});

it.each<[string, boolean, string?]>([
  ["/", true],
  ["/resolve?name=web.shop.svc.clusterset.test", true],
  ["/api/v1/clusters/west", true],
  ["/api/v1/clusters/west", true, "HEAD"],
  ["/api/v1/clusters/west", false, "DELETE"],
  ["/api/v1/clusters/west/snapshot", false, "PUT"],
  ["/api/v1/clusters/west/snapshot?leaseSeconds=60", false, "PATCH"],
  ["/api/v1/clusters/west/lease", false, "POST"],
  ["/federations/api/v1/clusters/west/lease", true, "POST"],
  ["/api/v1/clusters/west/snapshot", true],
  ["/api/v1/clusters/west/snapshot?x=/dns-query", true],
  ["/api/v1/transfer/state", false],
  ["/api/v1/transfer/state?scope=a", false, "HEAD"],
  ["/api/v1/transfer/state", true, "POST"],
  ["/?x=/api/v1/transfer/state", true],
  ["/dns-query?dns=AAAB", false],
  ["/clusters/west/dns-query", false],
  ["/everything?dns=AAAB", false],
  ["/healthz", false],
  ["/readyz", false],
  ["/metrics", false],
  ["/tokens/t/dns-query", false],
  ["/tokens/t/metrics", false],
  ["/tokens/t", true],
  ["/services/shop/metrics", true],
  ["/x/y/dns-query", true],
  ["/metrics/x", true],
])("under overload, %s has to wait: %s %s", (path, waits, method) => {
  const load = { isHigh: true };
  const { pass, counters } = open({ load });
  const refused = pass(`https://doh.example${path}`, ONE, {}, method);
  expect(refused?.code).toBe(waits ? "OVERLOADED" : undefined);
  if (waits) expect(refused).toMatchObject({ headers: { "retry-after": "5" } });
  expect(counters.get("limits.loopDelayMilliseconds")).toBe(waits ? 1 : 0);
  load.isHigh = false;
  expect(pass(`https://doh.example${path}`, ONE, {}, method)).toBeUndefined();
});

describe("an application", () => {
  const limited = (more: Partial<OpenAppParts> = {}) => openApp({ ...more, rate: rate() });
  const client: Client = { address: ONE, certificate: "none" };

  it.each(["/dns-query?dns=AAAB", "/tokens/known/dns-query", "/", "/api/v1/clusters/west"])(
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
      expect(response.status).toBe(429);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "cache-control": "no-store",
        "retry-after": "1",
      });
      return response.text();
    };
    expect(await reject(QUERY)).toMatch(/^this client sends too many requests/);
    for (const path of ["/resolve?name=a", "/api/v1/clusters/west/lease", "/api/v1/nothing"])
      expect(JSON.parse(await reject(path))).toMatchObject({ code: "TOO_MANY_REQUESTS" });
    expect([...counters.rejected]).toEqual([
      [400, 1],
      [429, 4],
    ]);
    expect(counters.limits.get("clients.requestsPerSecond")).toBe(4);
  });

  it("limits requests that pass by the objects of the Fetch standard", async () => {
    const app = limited();
    const answer = app.handlerAt("/dns-query")!;
    const ask = async () => (await answer(new FetchRequest(new Request(QUERY), client))).status;
    expect([await ask(), await ask()]).toEqual([400, 429]);
  });
});
