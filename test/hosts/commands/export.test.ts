import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { UsageError } from "../../../src/config/values.ts";
import {
  type DnsEndpoint,
  describeDnsEndpoints,
  type ExportFlags,
  exportFederation,
} from "../../../src/hosts/commands/export.ts";
import { folderOfTest } from "../../folders.ts";

const examples = ["cluster-a", "cluster-b"].map((name) =>
  fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url)),
);
const NOW = Date.parse("2026-04-01T00:00:00Z");
const ZONE = "federation.example.com.";

async function run(flags: Partial<ExportFlags> = {}, inputs = examples) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await exportFederation(
    inputs,
    { federation: "prod", domain: "federation.example.com", format: "zone", ttl: 60, ...flags },
    { out: (line) => out.push(line), err: (line) => err.push(line) },
    NOW,
  );
  return { code, out, err };
}

async function runObjects(flags: Partial<ExportFlags> = {}, inputs = examples): Promise<DnsEndpoint[]> {
  const { out } = await run({ format: "dnsendpoint", ...flags }, inputs);
  return parseAllDocuments(out.join("\n")).map((document) => document.toJS() as DnsEndpoint);
}

describe("a zone file", () => {
  it("has every shard's load balancer, SOA first (federated service discovery, External Clients)", async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    expect(out[0]).toMatch(
      new RegExp(`^${ZONE}\t5\tIN\tSOA\tns\\.dns\\.${ZONE} hostmaster\\.${ZONE} ${NOW / 1000} `),
    );
    expect(out[1]).toBe(`${ZONE}\t5\tIN\tNS\tns.dns.${ZONE}`);
    const api = out.filter((line) => line.startsWith(`api.shop.prod.svc.${ZONE}`));
    expect(api).toEqual(
      ["192.0.2.10", "192.0.2.20"].map((address) => `api.shop.prod.svc.${ZONE}\t60\tIN\tA\t${address}`),
    );
    expect(out).toContain(`tickets.shop.prod.svc.${ZONE}\t60\tIN\tCNAME\ttickets-1.elb.example.`);
    for (const line of out) expect(line).toMatch(/^\S+\t\d+\tIN\t(?:SOA|NS|A|AAAA|CNAME)\t\S/);
    // No addresses that only clusters can reach.
    expect(out.join("\n")).not.toMatch(/\t10\./);
  });

  it("has the given name servers and TTL", async () => {
    const { out } = await run({ nameServer: ["ns1.example.org", "NS2.example.org."], ttl: 300 });
    expect(out[0]).toContain("\tSOA\tns1.example.org. hostmaster.");
    expect(out.slice(1, 3)).toEqual(["ns1", "ns2"].map((host) => `${ZONE}\t5\tIN\tNS\t${host}.example.org.`));
    expect(out).toContain(`cluster-b.api.shop.prod.svc.${ZONE}\t300\tIN\tA\t192.0.2.20`);
  });
});

describe("DNSEndpoint objects", () => {
  it("are one for each service, in ExternalDNS's format", async () => {
    const objects = await runObjects();
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(["api.shop.prod", "tickets.shop.prod"]);
    const [api, tickets] = objects;
    expect(api).toMatchObject({
      apiVersion: "externaldns.k8s.io/v1alpha1",
      kind: "DNSEndpoint",
      metadata: { labels: { "app.kubernetes.io/managed-by": "clusterset-doh" } },
    });
    expect(api!.spec.endpoints[0]).toEqual({
      dnsName: "api.shop.prod.svc.federation.example.com",
      recordType: "A",
      recordTTL: 60,
      targets: ["192.0.2.10", "192.0.2.20"],
    });
    expect(tickets!.spec.endpoints[0]).toEqual({
      dnsName: "tickets.shop.prod.svc.federation.example.com",
      recordType: "CNAME",
      recordTTL: 60,
      targets: ["tickets-1.elb.example"],
    });
  });

  it("have each record of the zone file once", async () => {
    const { out } = await run();
    const expected = out.slice(2).map((line) => {
      const [name, ttl, , type, rdata] = line.split("\t") as [string, string, string, string, string];
      return [name.slice(0, -1), Number(ttl), type, type === "CNAME" ? rdata.slice(0, -1) : rdata];
    });
    const found = (await runObjects()).flatMap(({ spec }) =>
      spec.endpoints.flatMap(({ dnsName, recordTTL, recordType, targets }) =>
        targets.map((target) => [dnsName, recordTTL, recordType, target]),
      ),
    );
    expect(found.sort()).toEqual(expected.sort());
    expect(found.length).toBeGreaterThan(8);
  });

  it("keep names that look like another service's in their own service's object", () => {
    const record = (name: string) => ({ name: `${name}.x.example.`, ttl: 5, type: "A", rdata: "192.0.2.1" });
    const objects = describeDnsEndpoints(
      [record("web.svc.svc.svc"), record("svc.web.svc.svc.svc"), record("a.eu.web.svc.svc.svc.svc")],
      "svc",
      ["svc/web"],
    );
    expect(objects.map(({ metadata, spec }) => [metadata.name, spec.endpoints.length])).toEqual([
      ["web.svc.svc", 3],
    ]);
  });
});

it("headscale's extra records are the addresses of the zone file, and the others are named on stderr", async () => {
  const zone = await run();
  const { code, out, err } = await run({ format: "headscale" });
  const expected = zone.out.flatMap((line) => {
    const [name, , , type, value] = line.split("\t") as [string, string, string, string, string];
    return type === "A" || type === "AAAA" ? [{ name: name.slice(0, -1), type, value }] : [];
  });
  expect(code).toBe(0);
  expect(JSON.parse(out.join("\n"))).toEqual(expected);
  expect(expected).toContainEqual({
    name: `api.shop.prod.svc.${ZONE.slice(0, -1)}`,
    type: "A",
    value: "192.0.2.10",
  });
  expect(err).toContain(`left out: tickets.shop.prod.svc.${ZONE} CNAME: headscale has addresses only`);
  expect(err.at(-1)).toBe(`2 clusters, ${expected.length} records`);
});

describe("problems of the inputs", () => {
  let folder: string;
  beforeEach(() => {
    folder = folderOfTest();
    mkdirSync(join(folder, "cluster-c"));
  });

  it("findings and conflicts are printed, and do not stop the export", async () => {
    const { code, err } = await run();
    expect(code).toBe(0);
    expect(err[0]).toMatch(/^finding: .*partner\.yaml:\d+:\d+: .*InvalidServiceType/);
    expect(err.some((line) => line.startsWith("conflict: shop/api: "))).toBe(true);
    expect(err.at(-1)).toMatch(/^2 clusters, \d+ records$/);
  });

  it("findings and conflicts stop the export with --strict", async () => {
    const { code, out, err } = await run({ strict: true });
    expect({ code, out, last: err.at(-1) }).toEqual({ code: 1, out: [], last: "nothing is exported" });
  });

  it("a broken manifest stops the export: a provider would delete the missing records", async () => {
    const broken = join(folder, "cluster-c");
    writeFileSync(join(broken, "a.yaml"), "kind: [");
    const { code, out, err } = await run({}, [...examples, broken]);
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err[0]).toMatch(/^problem: .*a\.yaml:1:\d+: /);
  });

  it.each<[string, Partial<ExportFlags>, RegExp]>([
    ["a federation that is not a label", { federation: "a.b" }, /--federation and --domain: its name /],
    ["a domain that is not a name", { domain: "a b" }, /its domain must be a domain name/],
    ["the clusterset zone as the domain", { domain: "clusterset.local" }, /claimed by federation prod/],
    [
      "name servers for objects",
      { format: "dnsendpoint", nameServer: ["ns.example"] },
      /--name-server is for/,
    ],
    ["a name server that is not a name", { nameServer: ["a b"] }, /--name-server "a b" is not a host name/],
  ])("%s", async (_, flags, expected) => {
    await expect(run(flags)).rejects.toThrow(expected);
    await expect(run(flags)).rejects.toThrow(UsageError);
  });
});
