import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import {
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

/** The records of the zone file behind SOA and NS, whose names have no dot at their end. */
async function zoneRecords() {
  return (await run()).out.slice(2).map((line) => {
    const [name, ttl, , type, value] = line.split("\t") as [string, string, string, string, string];
    return { name: name.slice(0, -1), ttl: Number(ttl), type, value: value.replace(/\.$/, "") };
  });
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
    expect(api.map((line) => line.split("\t")[4])).toEqual(["192.0.2.10", "192.0.2.20"]);
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
  it("are one for each service, in ExternalDNS's format, and have each record of the zone file once", async () => {
    const { out } = await run({ format: "dnsendpoint" });
    const objects = parseAllDocuments(out.join("\n")).map(
      (document) => document.toJS() as ReturnType<typeof describeDnsEndpoints>[number],
    );
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(["api.shop.prod", "tickets.shop.prod"]);
    expect(objects[0]).toMatchObject({
      apiVersion: "externaldns.k8s.io/v1alpha1",
      kind: "DNSEndpoint",
      metadata: { labels: { "app.kubernetes.io/managed-by": "clusterset-doh" } },
    });
    expect(objects[0]!.spec.endpoints[0]).toEqual({
      dnsName: "api.shop.prod.svc.federation.example.com",
      recordType: "A",
      recordTTL: 60,
      targets: ["192.0.2.10", "192.0.2.20"],
    });
    const found = objects.flatMap(({ spec }) =>
      spec.endpoints.flatMap(({ dnsName: name, recordTTL: ttl, recordType: type, targets }) =>
        targets.map((value) => ({ name, ttl, type, value })),
      ),
    );
    expect(found).toEqual(expect.arrayContaining(await zoneRecords()));
    expect([found.length, found.length > 8]).toEqual([(await zoneRecords()).length, true]);
  });

  it("keep names that look like another service's in their own service's object", () => {
    const record = (name: string) => ({ name: `${name}.x.example.`, ttl: 5, type: "A", rdata: "192.0.2.1" });
    const names = ["web.svc.svc.svc", "svc.web.svc.svc.svc", "a.eu.web.svc.svc.svc.svc"];
    const objects = describeDnsEndpoints(names.map(record), "svc", ["svc/web"]);
    const counts = objects.map(({ metadata, spec }) => [metadata.name, spec.endpoints.length]);
    expect(counts).toEqual([["web.svc.svc", 3]]);
  });
});

it("headscale's extra records are the addresses of the zone file, and the others are named on stderr", async () => {
  const { code, out, err } = await run({ format: "headscale" });
  const addresses = (await zoneRecords()).filter(({ type }) => type === "A" || type === "AAAA");
  const expected = addresses.map(({ ttl: _, ...record }) => record);
  expect(code).toBe(0);
  expect(JSON.parse(out.join("\n"))).toEqual(expected);
  expect(err).toContain(`left out: tickets.shop.prod.svc.${ZONE} CNAME: headscale has addresses only`);
  expect(err.at(-1)).toBe(`2 clusters, ${expected.length} records`);
});

describe("problems of the inputs", () => {
  it("findings and conflicts are printed, and stop the export only with --strict", async () => {
    const { code, err } = await run();
    expect(code).toBe(0);
    expect(err[0]).toMatch(/^finding: .*partner\.yaml:\d+:\d+: .*InvalidServiceType/);
    expect(err.some((line) => line.startsWith("conflict: shop/api: "))).toBe(true);
    expect(err.at(-1)).toMatch(/^2 clusters, \d+ records$/);
    const strict = await run({ strict: true });
    expect([strict.code, strict.out, strict.err.at(-1)]).toEqual([1, [], "nothing is exported"]);
  });

  it("a broken manifest stops the export: a provider would delete the missing records", async () => {
    const broken = join(folderOfTest(), "cluster-c");
    mkdirSync(broken);
    writeFileSync(join(broken, "a.yaml"), "kind: [");
    const { code, out, err } = await run({}, [...examples, broken]);
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err[0]).toMatch(/^problem: .*a\.yaml:1:\d+: /);
  });
});
