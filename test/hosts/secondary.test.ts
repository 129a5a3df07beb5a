import { afterEach, describe, expect, it } from "vitest";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { locationSettings } from "../../src/config/location.ts";
import { createSecondaryHost, readSecondarySettings } from "../../src/hosts/secondary-host.ts";
import { locationOf } from "../../src/hosts/workers/bindings.ts";
import { sha256 } from "../access/authorities.ts";
import { federationTable } from "../conformance/cases/federation.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { pushApi } from "../conformance/push-client.ts";
import { queryFor } from "../forward/fake-upstreams.ts";
import { decode } from "../resolve/ask.ts";
import { Gateways, push } from "./gateways.ts";

/** The environment of a secondary whose primary cannot be reached. */
const valid = { CLUSTERSET_PRIMARY_URL: "http://127.0.0.1:1", CLUSTERSET_TRANSFER_TOKEN: "secret" };

/** Starts a secondary, and collects its log. */
async function open(config: object) {
  const events: string[] = [];
  const settings = readSecondarySettings({ ...valid, CONFIG: JSON.stringify(config) });
  const host = await createSecondaryHost(settings, (level, event) => events.push(`${level} ${event}`));
  const fetch = (request: Request, address = "192.0.2.1") =>
    host.fetch(request, { address, certificate: "none" });
  const post = { method: "POST", headers: { "content-type": "application/dns-message" } };
  const ask = (address?: string) =>
    fetch(
      makeRequest({ ...post, path: "/dns-query", body: queryFor("a.test") as Uint8Array<ArrayBuffer> }),
      address,
    );
  const get = (path: string) => fetch(makeRequest({ path }));
  return { events, fetch, ask, get };
}

const HEADERS = {
  source: "headers",
  trustedProxies: ["::1"],
  headers: { colo: "a" },
  rules: [{ region: "eu" }],
};
const HOPS = JSON.stringify({ location: { ...HEADERS, hops: 2 } });

describe("settings", () => {
  it("come from environment variables", () => {
    const settings = readSecondarySettings({
      ...valid,
      CONFIG: '{"zones":["clusterset.example.org"],"ttlSeconds":7}',
      PUSH_CREDENTIALS: JSON.stringify({ west: "a".repeat(64) }),
    });
    expect(settings).toMatchObject({
      config: { zones: ["clusterset.local", "clusterset.example.org"], ttlSeconds: 7 },
      credentials: [{ clusterId: "west", tokenSha256: "a".repeat(64) }],
      primaryUrl: "http://127.0.0.1:1",
      transferToken: "secret",
    });
  });

  it.each([
    ["CLUSTERSET_PRIMARY_URL", undefined],
    ["CLUSTERSET_PRIMARY_URL", "doh.example.org"],
    ["CLUSTERSET_PRIMARY_URL", "https://"],
    ["CLUSTERSET_TRANSFER_TOKEN", undefined],
    ["CLUSTERSET_TRANSFER_TOKEN", "two words"],
    ["CLUSTERSET_TRANSFER_KEYS", ""],
    ["CLUSTERSET_TRANSFER_KEYS", "short-of-characters"],
    ["CLUSTERSET_TRANSFER_KEYS", ["a", "b", "c"].map((letter) => letter.repeat(43)).join(",")],
    ["location.source", '{"location":{"source":"cf","rules":[{"region":"eu"}]}}'],
    ["CONFIG.location.hops", HOPS],
  ])("that are wrong are named: %s %j", (name, value) => {
    const variable = /location/.test(name) ? "CONFIG" : name;
    const read = () => readSecondarySettings({ ...valid, [variable]: value });
    expect(read).toThrow(name);
    if (value !== undefined && name.startsWith("CLUSTERSET_TRANSFER_") && value !== "")
      expect(read).not.toThrow(value);
  });
});

describe("a secondary", () => {
  it("answers everybody if no access is stated, and logs that", async () => {
    expect((await open({})).events).toEqual(["warn access-not-stated"]);
    expect((await open({ access: { public: true } })).events).toEqual([]);
    const rules = [{ name: "one", bearer: [{ tokenSha256: "a".repeat(64) }] }];
    expect((await open({ access: { rules } })).events).toEqual([]);
  });

  it("answers nobody if that is stated", async () => {
    const { get } = await open({ access: { public: false } });
    const paths = ["/dns-query", "/readyz", "/healthz"];
    const statuses = await Promise.all(paths.map(async (path) => (await get(path)).status));
    expect(statuses).toEqual([403, 503, 200]);
  });

  it("goes on while the primary cannot be reached: SERVFAIL, not ready, 502 for pushes, and metrics", async () => {
    const { ask, get, fetch } = await open({ access: { public: true } });
    expect(decode(new Uint8Array(await (await ask()).arrayBuffer())).rcode).toBe("SERVFAIL");
    expect((await get("/readyz")).status).toBe(503);
    const pushed = await pushApi(fetch).put();
    expect([pushed.status, await pushed.json()]).toMatchObject([502, { code: "PRIMARY_UNREACHABLE" }]);
    const metrics = await (await get("/metrics")).text();
    expect(metrics).toContain("clusterset_doh_ready 0\n");
    expect(metrics).toContain('\nclusterset_doh_transferred_bytes_total{from="primary"} 0\n');
  });

  it("limits the requests of each client", async () => {
    const clients = { requestsPerSecond: 1, requestBurst: 2 };
    const { ask } = await open({ access: { public: true }, clients });
    const statuses: number[] = [];
    for (let count = 0; count < 5; count++) statuses.push((await ask("192.0.2.1")).status);
    expect(statuses.slice(0, 2)).toEqual([200, 200]);
    expect(statuses).toContain(429);
    expect((await ask("192.0.2.2")).status).toBe(200);
  });
});

const rules = [
  { when: { country: ["US"] }, region: "us" },
  { when: { continent: ["EU"] }, region: "eu", zone: "eu-2" },
  { when: { country: ["CA"] }, view: "foo" },
];
const BAR = "104.32.64.130";
const BAZ = "108.120.45.12";
const PATH = "/resolve?name=myservice.myns.myfederation.svc.federation";

const tokenSha256 = sha256("test");
const located = (trustedProxies: string[]) => ({
  federations: [{ name: "myfederation" }],
  location: {
    source: "headers",
    trustedProxies,
    headers: { country: "cf-ipcountry", continent: "CF-IPContinent" },
    rules,
  },
});

const gateways = new Gateways();
afterEach(() => gateways.close());

it("a gateway behind a proxy hands places on to a secondary, which reads header fields by itself", async () => {
  const gateway = await gateways.start(gateways.folder(), {
    ...located(["127.0.0.1"]),
    push: { credentials: federationTable.snapshots.map(({ clusterId }) => ({ clusterId, tokenSha256 })) },
    tls: false,
    transfer: { credentials: [{ tokenSha256 }] },
  });
  for (const snapshot of federationTable.snapshots) await push(gateway, snapshot, "test");
  const secondary = await createSecondaryHost(
    readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: gateway.url,
      CLUSTERSET_TRANSFER_TOKEN: "test",
      CONFIG: JSON.stringify(located(["192.0.2.0/24"])),
    }),
    () => {},
  );
  const firstFrom = async (address: string) => {
    const request = new Request(`https://doh.example${PATH}`, { headers: { "cf-ipcontinent": "EU" } });
    const response = await secondary.fetch(request, { address, certificate: "none" });
    expect(response.headers.get("cache-control")).toMatch(/^private, /);
    return ((await response.json()) as { Answer: { data: string }[] }).Answer[0]!.data;
  };
  expect(await firstFrom("192.0.2.9")).toBe(BAZ);
  expect(await firstFrom("127.0.0.1")).toBe(BAR);
});

it("a serverless host takes the setting, and has none by itself", () => {
  const { location } = readEdgeConfig({ location: { source: "cf", rules } });
  expect(locationSettings(location)).toEqual({ source: "cf", rules });
  expect(locationSettings(readEdgeConfig(undefined).location)).toBeUndefined();
});

const FACTS = { country: "CH", continent: "EU", regionCode: "ZH", colo: "ZRH" };
it.each<[string, unknown, object | undefined]>([
  ["nothing finer than rules can use is taken", { ...FACTS, city: "Zurich", latitude: "47.36" }, FACTS],
  ["facts may be missing", { colo: "DFW", country: undefined, continent: null }, { colo: "DFW" }],
  ["facts of another type are missing", { country: 41, colo: ["ZRH"] }, {}],
  ["none, as behind no network of Cloudflare's", undefined, undefined],
  ["null", null, undefined],
])("the cf object of a Worker's request: %s", (_, cf, expected) => {
  expect(locationOf(cf)).toEqual(expected);
});
