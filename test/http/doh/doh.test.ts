import { beforeEach, describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { NAME } from "../../conformance/cases/doh.ts";
import { base64url, FakeGateway, NOW, query } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

const DNS = "application/dns-message";

let gateway: FakeGateway;
let counters: QueryCounters;
let app: ReturnType<typeof openApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  counters = new QueryCounters();
  app = openApp({ gateway, counters, clock: () => NOW, zones: ["clusterset.local"], version: "0.0.0" });
});

const get = (path: string, headers: Record<string, string> = {}) => app.request(path, { headers });
const post = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = "/dns-query") =>
  app.request(path, { method: "POST", body, headers: { "content-type": DNS, ...headers } });
describe("GET (RFC 8484 section 4.1)", () => {
  it("keeps the bytes of two queries apart", async () => {
    await get(`/dns-query?dns=${base64url(query("a-much-longer-name.shop.svc.clusterset.test"))}`);
    await get(`/dns-query?dns=${base64url(query("a.b"))}`);
    expect(gateway.asked[1]?.query).toEqual(query("a.b"));
  });
});

describe("POST (RFC 8484 section 4.1)", () => {
  it("answers a Content-Length over 65,535 bytes with 413 (RFC 8484 section 4.2.1)", async () => {
    expect((await post(query(NAME), { "content-length": "65536" })).status).toBe(413);
    expect((await post(query(NAME), { "content-length": "nonsense" })).status).toBe(413);
  });

  it("stops reading an endless body at the limit", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(10_000));
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  it("answers an incomplete body with 400", async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("gone")),
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(400);
  });
});

describe("counting", () => {
  it("counts queries by view, outcome and type, and rejections by status", async () => {
    await get(`/dns-query?dns=${base64url(query(NAME, "AAAA"))}`);
    await post(query(NAME, "NAPTR"), {}, "/clusters/cluster-a/dns-query");
    await get("/resolve?name=web.shop.svc.clusterset.test&type=HTTPS");
    await get("/dns-query");
    expect([...counters.queries()]).toEqual([
      { transport: "https", view: "outside", outcome: "answer", type: "AAAA", count: 1 },
      { transport: "https", view: "outside", outcome: "answer", type: "HTTPS", count: 1 },
      { transport: "https", view: "cluster", outcome: "answer", type: "other", count: 1 },
    ]);
    expect([...counters.rejections()]).toEqual([[400, 1]]);
    const { buckets, sum } = counters.durations();
    expect(buckets.reduce((one, other) => one + other)).toBe(3);
    expect(sum).toBeGreaterThan(0);
  });
});

describe("an error of the gateway", () => {
  it("becomes a 500 whose message is only in the log", async () => {
    const errors: Error[] = [];
    const failing = openApp({
      gateway: Object.assign(new FakeGateway(), {
        answer: () => {
          throw new Error("inner words");
        },
      }),
      clock: () => NOW,
      zones: [],
      version: "0",
      onError: (error) => errors.push(error),
    });
    const response = await failing.request(`/dns-query?dns=${base64url(query(NAME))}`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("inner words");
    expect(errors.map((error) => error.message)).toEqual(["inner words"]);
  });
});
