import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { locationLocalities, locationSettings } from "../../src/config/location.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { createSecondaryHost, readSecondarySettings } from "../../src/hosts/secondary-host.ts";
import { locationOf } from "../../src/hosts/workers/bindings.ts";
import { federationTable } from "../conformance/cases/federation.ts";
import { folderOfTest } from "../folders.ts";
import { Gateways, push } from "./gateways.ts";

const rules = [
  { when: { country: ["US"] }, region: "us" },
  { when: { continent: ["EU"] }, region: "eu", zone: "eu-2" },
  { when: { country: ["CA"] }, view: "foo" },
];
const BAR = "104.32.64.130";
const BAZ = "108.120.45.12";
const PATH = "/resolve?name=myservice.myns.myfederation.svc.federation";

const tokenSha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const located = (trustedProxies: string[]) => ({
  federations: [{ name: "myfederation" }],
  location: {
    source: "headers",
    trustedProxies,
    headers: { country: "cf-ipcountry", continent: "CF-IPContinent" },
    rules,
  },
});

describe("a gateway on Node behind a proxy", () => {
  const gateways = new Gateways();
  afterEach(() => gateways.close());

  async function start(trustedProxies: string[], more: object = {}): Promise<RunningGateway> {
    const gateway = await gateways.start(gateways.folder(), {
      ...located(trustedProxies),
      push: { credentials: federationTable.snapshots.map(({ clusterId }) => ({ clusterId, tokenSha256 })) },
      ...more,
    });
    for (const snapshot of federationTable.snapshots) await push(gateway, snapshot, "test");
    return gateway;
  }

  it("hands places on to a secondary, which reads header fields by itself", async () => {
    const gateway = await start(["127.0.0.1"], { tls: false, transfer: { credentials: [{ tokenSha256 }] } });
    const secondary = await createSecondaryHost(
      readSecondarySettings({
        CLUSTERSET_PRIMARY_URL: gateway.url,
        CLUSTERSET_TRANSFER_TOKEN: "test",
        CONFIG: JSON.stringify(located(["192.0.2.0/24"])),
      }),
      () => {},
    );
    const firstFrom = async (clientAddress: string) => {
      const request = new Request(`https://doh.example${PATH}`, { headers: { "cf-ipcontinent": "EU" } });
      const response = await secondary.fetch(request, { address: clientAddress, certificate: "none" });
      expect(response.headers.get("cache-control")).toMatch(/^private, /);
      return ((await response.json()) as { Answer: { data: string }[] }).Answer[0]!.data;
    };
    expect(await firstFrom("192.0.2.9")).toBe(BAZ);
    expect(await firstFrom("127.0.0.1")).toBe(BAR);
  });
});

it("the config file of docs/how-to/location.md is taken", () => {
  const page = readFileSync(new URL("../../docs/how-to/location.md", import.meta.url), "utf8");
  const folder = folderOfTest();
  const config = join(folder, "located.yaml");
  writeFileSync(config, /```yaml\n(.*?)```/s.exec(page)![1]!);
  expect(locationLocalities(readServeConfig({ config }).location)).toEqual([
    { region: "us-east" },
    { region: "eu-west" },
  ]);
});

it("a serverless host takes the setting, and has none by itself", () => {
  const { location } = readEdgeConfig({ location: { source: "cf", rules } });
  expect(locationSettings(location)).toEqual({ source: "cf", rules });
  expect(locationSettings(readEdgeConfig(undefined).location)).toBeUndefined();
});

describe("the cf object of a Worker's request", () => {
  it.each<[string, unknown, object | undefined]>([
    [
      "nothing finer than rules can use is taken",
      {
        country: "CH",
        continent: "EU",
        regionCode: "ZH",
        colo: "ZRH",
        city: "Zurich",
        latitude: "47.36",
        longitude: "8.55",
        postalCode: "8001",
      },
      { country: "CH", continent: "EU", regionCode: "ZH", colo: "ZRH" },
    ],
    ["facts may be missing", { colo: "DFW", country: undefined, continent: null }, { colo: "DFW" }],
    ["facts of another type are missing", { country: 41, colo: ["ZRH"] }, {}],
    ["none, as behind no network of Cloudflare's", undefined, undefined],
    ["null", null, undefined],
    ["no object", "CH", undefined],
  ])("%s", (_, cf, expected) => {
    expect(locationOf(cf)).toEqual(expected);
  });
});
