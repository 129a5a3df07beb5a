import { readFileSync } from "node:fs";
import { connect, constants } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { startFetchServer } from "../../src/hosts/fetch-server.ts";
import { LimitCounters, RequestsInFlight } from "../../src/limits/counters.ts";
import { queryFor } from "../forward/fake-upstreams.ts";
import { headerLine, sealed } from "../snapshot/lines/push-lines.ts";
import { until } from "../until.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "./default-limits.ts";
import { Gateways, type Sent, send } from "./gateways.ts";

const tokenSha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const message = queryFor("web.shop.svc.clusterset.local");
const QUERY: Sent = { method: "POST", message };

const gateways = new Gateways();
afterEach(() => gateways.close());

it("a gateway on Node keeps half of its places for DNS and pushes: pages and JSON get 503, queries, snapshots and renewals do not", async () => {
  const push = { credentials: [{ clusterId: "west", tokenSha256 }] };
  const gateway = await gateways.start(gateways.folder(), { push, limits: { requestsInFlight: 8 } });
  const session = connect(gateway.url, { ca: readFileSync(gateway.certificateFile!) });
  session.on("error", () => {});
  // Bodies that never end take five places.
  const fields = { "content-type": "application/dns-message", "content-length": "40" };
  const begun = Array.from({ length: 5 }, () => {
    const stream = session.request({ ":method": "POST", ":path": "/dns-query", ...fields });
    stream.on("error", () => {});
    stream.write("half");
    return stream;
  });
  await until(async () => expect((await send(gateway, "/setup")).status).toBe(503));
  const status = async (path: string, sent: Sent = {}) => (await send(gateway, path, sent)).status;
  const lines = sealed(headerLine("west"), '["pods","x",{}]');
  const lease: Sent = { method: "POST", token: "test", json: { generation: 1 } };
  expect([
    await status("/"),
    await status("/api/v1/clusters/west/snapshot", { method: "PUT", token: "test", lines }),
    await status("/dns-query", QUERY),
    await status("/dns-query", { ...QUERY, http2: false }),
    await status("/api/v1/clusters/west/lease", lease),
  ]).toEqual([503, 422, 200, 200, 409]);
  const refused = await send(gateway, "/resolve?name=web.shop.svc.clusterset.local");
  expect([refused.headers["retry-after"], refused.json()]).toMatchObject(["5", { code: "OVERLOADED" }]);
  for (const stream of begun) stream.close(constants.NGHTTP2_CANCEL);
  await until(async () => expect(await status("/setup")).toBe(200));
  const metrics = String((await send(gateway, "/metrics")).bytes);
  const [, count] = /_limited_total\{limit="limits\.loopDelayMilliseconds"\} (\d+)/.exec(metrics)!;
  expect(Number(count)).toBeGreaterThan(2);
  session.destroy();
});

describe("hosts that see requests only", () => {
  it("believe a field that a proxy overwrites, and no list, to which the platform appends", () => {
    const trustedProxies = ["192.0.2.1"];
    for (const header of [undefined, "X-Forwarded-For", "forwarded"])
      expect(() => readEdgeConfig({ clients: { trustedProxies, header } })).toThrow(/CONFIG.clients.header/);
    expect(readEdgeConfig({ clients: { trustedProxies, header: "x-real-ip" } }).clients.hops).toBe(1);
  });

  it("bound how many requests they answer at once", async () => {
    let respond: ((request: Request, address: string) => Response | Promise<Response>) | undefined;
    const late = Promise.withResolvers<Response>();
    const counters = new LimitCounters();
    const open = startFetchServer({
      name: "Test",
      listen: (options) => {
        respond = options.respond;
        return { port: 1, stop: async () => {} };
      },
    });
    await open({
      listen: { host: "127.0.0.1", port: 0 },
      tls: undefined,
      fetch: () => late.promise,
      limits: DEFAULT_SERVER_LIMITS,
      protection: { ...ownProtection(), counters, requests: new RequestsInFlight(1) },
    });
    const request = new Request("https://doh.example/");
    const first = respond!(request, "192.0.2.1");
    const second = await respond!(request, "192.0.2.1");
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(counters.get("limits.requestsInFlight")).toBe(1);
    late.resolve(new Response("late"));
    expect((await first).status).toBe(200);
  });
});
