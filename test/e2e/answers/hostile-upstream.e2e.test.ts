import { createHash } from "node:crypto";
import type { Answer } from "dns-packet";
import { decode, encode } from "dns-packet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DnsServer, startDnsServer } from "../../hosts/listeners/dns-server.ts";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

const OURS = "web.shop.svc.clusterset.local";
const HIDDEN = "db.internal.example";

const address = (name: string, data: string): Answer => ({ type: "A", name, ttl: 300, data });
const cname = (name: string, data: string): Answer => ({ type: "CNAME", name, ttl: 300, data });

/** The upstream's answer to each name, for every type. */
const SAYS: Readonly<Record<string, Answer[]>> = {
  "more.example": [
    address("bank.example", "192.0.2.66"),
    cname("more.example", "cdn.example"),
    address("cdn.example", "192.0.2.1"),
    address("cdn.example.bank.example", "192.0.2.66"),
  ],
  "rebind.example": [address("rebind.example", "169.254.169.254")],
  "mixed.example": [address("mixed.example", "10.0.0.1"), address("mixed.example", "192.0.2.2")],
  "lured.example": [cname("lured.example", OURS), address(OURS, "192.0.2.66")],
  "poison.example": [address(OURS, "192.0.2.66")],
  "lb.corp.example": [address("lb.corp.example", "10.0.0.9")],
  "asked.example": [address("asked.example", "192.0.2.3")],
  [HIDDEN]: [address(HIDDEN, "192.0.2.4")],
};

const hex = (text: string) => createHash("sha256").update(text).digest("hex");
const west = snapshot("west", {
  exports: { "shop/web": exported() },
  imports: { "shop/web": imported({ ips: ["10.1.0.1"] }) },
  services: {
    "shop/db": {
      ...{ createdAt: "2026-01-01T00:00:00Z", serviceType: "ExternalName", headless: false, ports: [] },
      ...{ externalName: HIDDEN, endpoints: {} },
    },
    "shop/odd": {
      ...{ createdAt: "2026-01-01T00:00:00Z", serviceType: "ExternalName", headless: false, ports: [] },
      ...{ externalName: `odd..${HIDDEN}`, endpoints: {} },
    },
  },
  clusterZone: { name: "cluster.local", pods: "disabled" },
});

let upstream: DnsServer;
let gateway: GatewayProcess;

beforeAll(async () => {
  const say = (query: Buffer): Uint8Array => {
    const { id, questions = [] } = decode(query);
    const answers = SAYS[questions[0]!.name.toLowerCase()] ?? [];
    const additionals = [address("bank.example", "192.0.2.66")];
    return encode({ type: "response", id: id!, flags: 0x0180, questions, answers, additionals });
  };
  upstream = await startDnsServer({ udp: say, tcp: say });
  gateway = await startGateway({
    clusters: ["west"],
    config: {
      // Each thread has a cache of its own, and the last test counts what one cache forwards.
      threads: 1,
      outsideZones: "forward",
      forward: {
        upstreams: [`127.0.0.1:${upstream.port}`],
        privateAddresses: { names: ["corp.example"] },
      },
      access: {
        public: true,
        rules: [
          {
            name: "ranges",
            bearer: [{ tokenSha256: hex("ranges") }],
            scope: { addressRanges: ["10.0.0.0/8", "192.0.2.0/24"] },
          },
          {
            name: "targets",
            bearer: [{ tokenSha256: hex("targets") }],
            scope: { addressRanges: ["10.0.0.0/8"], targets: ["internal.example"] },
          },
        ],
      },
    },
  });
  const { status } = await gateway.http("/api/v1/clusters/west/snapshot", {
    method: "PUT",
    headers: { authorization: `Bearer ${gateway.tokenFor("west")}`, "content-type": LINES_TYPE },
    body: Buffer.from(snapshotBody(west)),
  });
  expect(status).toBe(200);
});

afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

interface JsonAnswer {
  readonly Status: number;
  readonly Answer?: readonly { readonly name: string; readonly data: string; readonly TTL: number }[];
  readonly Comment?: string;
}

/** An answer in JSON for a client with a token. */
async function ask(name: string, token?: string, path = "/resolve"): Promise<JsonAnswer> {
  const { text } = await gateway.http(`${path}?name=${name}&type=A`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  return JSON.parse(text) as JsonAnswer;
}

const dataOf = ({ Status, Answer = [] }: JsonAnswer) => [Status, ...Answer.map(({ data }) => data)];

test("of an upstream's excess records only the chain is passed on", async () => {
  const { message } = await gateway.query("more.example", "A");
  const records = [
    ...(message.answers ?? []),
    ...(message.authorities ?? []),
    ...(message.additionals ?? []),
  ];
  expect(records.filter(({ type }) => type !== "OPT").map(({ name, type }) => `${name} ${type}`)).toEqual([
    "more.example CNAME",
    "cdn.example A",
  ]);
});

test("an upstream that speaks for the gateway's zones is not believed, and changes no answer of theirs", async () => {
  for (const name of ["lured.example", "poison.example"]) {
    const said = await ask(name);
    expect(dataOf(said), name).toEqual([0]);
    expect(JSON.stringify(said)).not.toContain("192.0.2.66");
  }
  expect(dataOf(await ask(OURS))).toEqual([0, "10.1.0.1"]);
});

test("a public name has no private address, unless the configuration allows it", async () => {
  expect(dataOf(await ask("rebind.example"))).toEqual([0]);
  expect(dataOf(await ask("mixed.example"))).toEqual([0, "192.0.2.2"]);
  expect(dataOf(await ask("lb.corp.example"))).toEqual([0, "10.0.0.9"]);
  const { text } = await gateway.http("/metrics");
  expect(text).toMatch(/^clusterset_doh_upstream_dropped_records_total\{reason="private-address"\} 2$/m);
});

describe("a client that sees some ranges of addresses", () => {
  const alias = "db.shop.svc.cluster.local";
  const path = "/clusters/west/resolve";

  test("learns no target of an ExternalName Service: not in answers, not forwarded, not on pages", async () => {
    expect(dataOf(await ask(alias, undefined, path))).toEqual([0, `${HIDDEN}.`, "192.0.2.4"]);
    const before = upstream.udp.length;
    const hidden = await ask(alias, "ranges", path);
    expect(dataOf(hidden)).toEqual([3]);
    expect(upstream.udp).toHaveLength(before);
    for (const page of ["/", "/services", "/clusters", "/conflicts", `/?name=${alias}&type=A`]) {
      const { text } = await gateway.http(page, { headers: { authorization: "Bearer ranges" } });
      expect(text, page).not.toContain(HIDDEN);
    }
    const findings = (token?: string) =>
      gateway.http(
        "/conflicts",
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      );
    expect((await findings()).text).toContain("InvalidExternalName");
    expect((await findings("ranges")).text).not.toContain("InvalidExternalName");
  });

  test("learns targets in the domains that its scope lists", async () => {
    expect(dataOf(await ask(alias, "targets", path))).toEqual([0, `${HIDDEN}.`, "192.0.2.4"]);
  });
});

test("clients of one rule do not see what clients of another have queried", async () => {
  const first = await ask("asked.example");
  expect(first.Comment).toContain("forwarded to");
  const before = upstream.udp.length;
  expect(dataOf(await ask("asked.example"))).toEqual([0, "192.0.2.3"]);
  expect(upstream.udp).toHaveLength(before);
  const other = await ask("asked.example", "ranges");
  expect(upstream.udp).toHaveLength(before + 1);
  expect(other.Comment).not.toContain("cached");
  expect(other.Answer).toMatchObject([{ TTL: 300 }]);
});
