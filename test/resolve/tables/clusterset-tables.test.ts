import { describe, expect, it } from "vitest";
import { listRecords } from "../../../src/zone/listing.ts";
import { clustersetTable } from "../../conformance/cases/clusterset.ts";
import { checkCompiled, compileTable } from "../../conformance/compiled-table.ts";
import { titledRows } from "../../conformance/dns-case.ts";
import { exporting, port } from "../../merge/fixtures.ts";
import { ask, compileWorld } from "../ask.ts";
import { twoClusters } from "../world.ts";

const Z = "clusterset.local";
const web = `web.shop.svc.${Z}`;
const options = { zones: [`${Z}.`, "clusterset.test."], serial: 7 };
const world = compileTable(clustersetTable);

describe(clustersetTable.title, () => {
  it.each(titledRows(clustersetTable))("%s", (_, entry) => {
    checkCompiled(clustersetTable, world, entry);
  });

  it("RFC 2782: a service without an address has names, but no SRV records", () => {
    const bare = compileWorld([exporting("east", { ports: [port("https", 443)] })], options);
    for (const [name, type] of [
      [web, "A"],
      [web, "SRV"],
      [`_https._tcp.${web}`, "SRV"],
    ] as const)
      expect(ask(bare, name, type)).toMatchObject({
        rcode: "NOERROR",
        answer: [],
        authority: [clustersetTable.soa],
      });
  });

  it("RFC 1794: records rotate, so that each comes first", () => {
    const firsts = [0, 1, 2, 3].map(
      (rotation) => ask({ ...world, rotation }, `db.shop.svc.${Z}`, "A").answer[0],
    );
    expect(new Set(firsts).size).toBe(4);
  });

  it("adds the name server's addresses, if any, to NS answers (RFC 1034 4.2.1)", () => {
    const served = compileWorld(twoClusters(), {
      ...options,
      nameServerAddresses: ["192.0.2.53", "2001:db8::53"],
    });
    expect(ask(served, Z, "NS").additional).toEqual([
      `ns.dns.${Z} 5 A 192.0.2.53`,
      `ns.dns.${Z} 5 AAAA 2001:db8::53`,
    ]);
    expect(ask(served, `ns.dns.${Z}`, "A").answer).toEqual([`ns.dns.${Z} 5 A 192.0.2.53`]);
  });

  describe("hosts in the zones", () => {
    const served = compileWorld(twoClusters(), {
      ...options,
      federations: [{ name: "fed", domain: "fed.example" }],
      nameServerAddresses: ["192.0.2.53"],
      hosts: [
        { name: "DNS.Gateway.clusterset.test", addresses: ["192.0.2.1", "2001:db8::1"] },
        { name: "ns.dns.clusterset.test.", addresses: ["192.0.2.54"] },
        { name: "clusterset.test", addresses: ["192.0.2.2"] },
        { name: "doh.fed.example", addresses: ["192.0.2.3"] },
        { name: "dns.elsewhere.example", addresses: ["192.0.2.4"] },
      ],
    });

    it.each([
      ["dns.gateway.clusterset.test", "A", ["192.0.2.1"]],
      ["dns.gateway.clusterset.test", "AAAA", ["2001:db8::1"]],
      ["dns.gateway.clusterset.test", "TXT", []],
      ["gateway.clusterset.test", "A", []],
      ["ns.dns.clusterset.test", "A", ["192.0.2.53", "192.0.2.54"]],
      ["clusterset.test", "A", ["192.0.2.2"]],
      ["clusterset.test", "AAAA", []],
      ["doh.fed.example", "A", ["192.0.2.3"]],
    ])("have their addresses: %s %s", (name, type, addresses) => {
      expect(ask(served, name, type)).toMatchObject({
        rcode: "NOERROR",
        authoritative: true,
        answer: addresses.map((address) => `${name} 5 ${type} ${address}`),
      });
    });

    it("do not exist in other kinds of zones, and leave the apex its SOA record", () => {
      expect(ask(served, "doh.clusterset.test", "A").rcode).toBe("NXDOMAIN");
      expect(ask(served, "dns.elsewhere.example", "A").rcode).toBe("REFUSED");
      expect(ask(served, "clusterset.test", "SOA").answer).toHaveLength(1);
      expect([...listRecords(served.generation, { zone: "clusterset.test." })]).toContainEqual({
        ...{ name: "clusterset.test.", ttl: 5, type: "A", rdata: "192.0.2.2" },
      });
    });
  });
});
