import { describe, expect, it } from "vitest";
import { parseAddressRange } from "../../src/dns/address.ts";
import { LocalZones } from "../../src/forward/local.ts";
import { Outside, type OutsideDependencies, type OutsidePolicy } from "../../src/forward/outside.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { optRecord } from "../dns/opt-record.ts";
import { atOnce, errorsIn, fakeForwarder, withEdns } from "./fake-forwarder.ts";
import { addressOf, decoded, patched, queryFor } from "./fake-upstreams.ts";

const GIVEN: Answer = {
  bytes: Uint8Array.of(1, 2, 3),
  outcome: "refused",
  freshness: 0,
  outOfZone: "no-zone",
};
const CLIENT = "192.0.2.77";

function outsideOf(
  changes: Partial<OutsideDependencies> = {},
  zones: { also?: string[]; except?: string[] } = {},
) {
  const { forwarder, asked, counted } = fakeForwarder({ one: addressOf("192.0.2.1") });
  const localZones = new LocalZones({
    own: ["clusterset.local", "clusterset.test", "federation"],
    also: [],
    except: [],
    ...zones,
  });
  const outside = new Outside({ given: "refuse", localZones, forwarder, ...changes });
  const answer = (message: Uint8Array, policy: OutsidePolicy = "forward", given: Answer = GIVEN) =>
    outside.answer(message, given, policy, CLIENT, "public");
  return { outside, answer, asked, counted };
}

/** What a query gets without any upstream. */
function local(name: string, type = "A", changes: Parameters<typeof outsideOf>[1] = {}) {
  const { answer, asked } = outsideOf({}, changes);
  const given = answer(queryFor(name, withEdns, type));
  if (given instanceof Promise) return "forwarded";
  expect(asked).toEqual([]);
  const packet = decoded(given.answer.bytes);
  return { ...given, packet, errors: errorsIn(given.answer.bytes) };
}

const rcodeOf = (name: string, type?: string, changes?: Parameters<typeof outsideOf>[1]) => {
  const given = local(name, type, changes);
  return given === "forwarded" ? given : given.packet.rcode;
};

describe("the policy", () => {
  it.each<["refuse" | "nxdomain", OutsidePolicy, string]>([
    ["refuse", "refuse", "as given"],
    ["refuse", "nxdomain", "NXDOMAIN"],
    ["nxdomain", "nxdomain", "as given"],
    ["nxdomain", "refuse", "REFUSED"],
  ])("the gateway says %s, the path %s: %s", (given, policy, expected) => {
    const { answer, asked } = outsideOf({ given, forwarder: undefined });
    const said = atOnce(answer(queryFor("www.example.com", withEdns), policy));
    if (expected === "as given") expect(said.answer.bytes).toBe(GIVEN.bytes);
    else {
      expect(decoded(said.answer.bytes).rcode).toBe(expected);
      // RFC 8914 section 4.21: Not Authoritative.
      expect(errorsIn(said.answer.bytes)).toEqual([20]);
    }
    expect(asked).toEqual([]);
  });

  it.each<[OutsidePolicy, string, string]>([
    ["nxdomain", "example.com", "NOERROR"],
    ["refuse", "example.com", "as given"],
    ["nxdomain", "local", "NOERROR"],
    ["forward", "cluster.local", "NOERROR"],
    ["forward", "3.10.in-addr.arpa", "NOERROR"],
    ["forward", "svc.federation", "NOERROR"],
  ])("%s never denies a name above those that are answered: %s", (policy, name, expected) => {
    const { answer, asked } = outsideOf();
    const given = { ...GIVEN, isAncestor: true } as const;
    const said = atOnce(answer(queryFor(name, withEdns), policy, given));
    if (expected === "as given") expect(said.answer).toBe(given);
    else {
      expect(decoded(said.answer.bytes)).toMatchObject({ rcode: expected, answers: [] });
      expect(said.answer.outcome).toBe("nodata");
    }
    expect(asked).toEqual([]);
  });

  it.each<OutsidePolicy>(["refuse", "nxdomain"])("%s says nothing until something is loaded", (policy) => {
    const { answer } = outsideOf();
    const given = { ...GIVEN, outOfZone: "unknown" } as const;
    expect(atOnce(answer(queryFor("www.example.com"), policy, given)).answer).toBe(given);
  });
});

describe("what is never forwarded", () => {
  it.each([
    ["a zone transfer", queryFor("example.com", {}, "AXFR")],
    ["another EDNS version", queryFor("example.com", { additionals: [{ ...optRecord(), ednsVersion: 1 }] })],
    ["an update (opcode 5)", patched(queryFor("example.com"), 2, 0x29)],
    [
      "a query without RD, which asks what others have asked for (RFC 8914 section 4.21)",
      queryFor("example.com", { flags: 0 }),
    ],
  ])("%s", (_, message) => {
    const { answer, asked } = outsideOf();
    expect(answer(message)).not.toBeInstanceOf(Promise);
    expect(asked).toEqual([]);
  });

  it.each(["clusterset.local", "a.b.CLUSTERSET.local", "web.shop.fed.svc.federation"])(
    "%s, in our zones, is NXDOMAIN",
    (name) => {
      expect(local(name)).toMatchObject({ packet: { rcode: "NXDOMAIN" }, errors: [20] });
    },
  );

  it.each([
    ["example.test", "RFC 6761 section 6.2"],
    ["a.invalid", "RFC 6761 section 6.4"],
    ["web.shop.svc.cluster.local", "RFC 6762 section 22.1"],
    ["duckduckgogg42xjoc72x3sjasowoarfbgcmvfimaftt6twagswzczad.onion", "RFC 7686 section 2"],
    ["nas.home.arpa", "RFC 8375 section 4"],
    ["name.alt", "RFC 9476 section 2"],
    ["_dns.resolver.arpa", "RFC 9462 section 6.4"],
    ["1.0.0.10.in-addr.arpa", "RFC 6303 section 4.1"],
    ["1.0.16.172.in-addr.arpa", "RFC 6303 section 4.1"],
    ["1.255.31.172.in-addr.arpa", "RFC 6303 section 4.1"],
    ["1.1.168.192.in-addr.arpa", "RFC 6303 section 4.1"],
    ["7.2.0.192.in-addr.arpa", "RFC 6303 section 4.2"],
    ["255.255.255.255.in-addr.arpa", "RFC 6303 section 4.2"],
    ["1.0.64.100.in-addr.arpa", "RFC 7793"],
    ["1.0.127.100.in-addr.arpa", "RFC 7793"],
    [`1.${"0.".repeat(31)}ip6.arpa`, "RFC 6303 section 4.3"],
    ["1.0.0.0.d.f.ip6.arpa", "RFC 6303 section 4.4"],
    ["1.8.e.f.ip6.arpa", "RFC 6303 section 4.5"],
    ["1.8.b.d.0.1.0.0.2.ip6.arpa", "RFC 6303 section 4.6"],
  ])("%s (%s)", (name) => {
    // Zones of clusters, and reverse names of their services, come and go there.
    const ttl = 5;
    const zone = { type: "SOA", ttl, data: { rname: "nobody.invalid", minimum: 10_800 } };
    const isApex = name === "255.255.255.255.in-addr.arpa" || name.split(".").length === 34;
    const expected = isApex ? "NOERROR" : "NXDOMAIN";
    for (const type of ["A", "PTR"])
      expect(local(name, type)).toMatchObject({
        packet: { rcode: expected, flag_aa: true, flag_ra: true, answers: [], authorities: [zone] },
        answer: { freshness: ttl },
      });
  });

  it.each([
    "example.com",
    "test.example.com",
    "notinvalid",
    "onion.example",
    "1.0.15.172.in-addr.arpa",
    "1.0.32.172.in-addr.arpa",
    "1.0.63.100.in-addr.arpa",
    "8.8.8.8.in-addr.arpa",
    "1.7.e.f.ip6.arpa",
    "use-application-dns.net",
  ])("but %s is", (name) => {
    expect(rcodeOf(name)).toBe("forwarded");
  });

  it.each([
    ["localhost", "A", ["127.0.0.1"]],
    ["a.b.localhost", "AAAA", ["::1"]],
    ["LOCALHOST", "MX", []],
  ])("%s %s has loopback addresses, or none (RFC 6761 section 6.3)", (name, type, expected) => {
    const { answer } = outsideOf();
    const packet = decoded(atOnce(answer(queryFor(name, {}, type))).answer.bytes);
    expect(packet.rcode).toBe("NOERROR");
    expect(packet.answers?.map((record) => "data" in record && record.data)).toEqual(expected);
    expect(packet.authorities).toHaveLength(expected.length === 0 ? 1 : 0);
  });

  it("the SOA of a locally served zone is its answer (RFC 6303 section 3)", () => {
    const times = { serial: 1, refresh: 3600, retry: 1200, expire: 604_800, minimum: 10_800 };
    const data = { mname: "10.in-addr.arpa", rname: "nobody.invalid", ...times };
    expect(local("10.in-addr.arpa", "SOA")).toMatchObject({
      packet: { rcode: "NOERROR", answers: [{ name: "10.in-addr.arpa", data }], authorities: [] },
    });
  });

  it("is more or less by setting; the closest zone counts", () => {
    const zones = {
      also: ["corp.example", "use-application-dns.net"],
      except: ["10.in-addr.arpa", "open.corp.example"],
    };
    expect(rcodeOf("wiki.corp.example", "A", zones)).toBe("NXDOMAIN");
    expect(rcodeOf("use-application-dns.net", "A", zones)).toBe("NOERROR");
    expect(rcodeOf("a.open.corp.example", "A", zones)).toBe("forwarded");
    expect(rcodeOf("1.0.0.10.in-addr.arpa", "PTR", zones)).toBe("forwarded");
    expect(rcodeOf("1.0.0.127.in-addr.arpa", "PTR", zones)).toBe("NXDOMAIN");
  });
});

describe("while nothing is loaded", () => {
  const given = { ...GIVEN, outOfZone: "unknown" } as const;
  it.each([
    ["web.shop.svc.clusterset.local", "not known"],
    // Any of these may be an address of a service.
    ["1.0.0.10.in-addr.arpa", "not known"],
    ["8.8.8.8.in-addr.arpa", "not known"],
    // The zone of a cluster, which nothing has reported yet.
    ["web.shop.svc.cluster.local", "not known"],
    ["localhost", "answered"],
    ["www.example.com", "forwarded"],
  ])("%s is %s", (name, expected) => {
    const { answer } = outsideOf();
    const said = answer(queryFor(name), "forward", given);
    if (expected === "forwarded") expect(said).toBeInstanceOf(Promise);
    else if (expected === "answered") expect(atOnce(said).answer.outcome).toBe("answer");
    else expect(atOnce(said).answer).toBe(given);
  });
});

describe("clients that may use upstreams", () => {
  const clients = ["10.0.0.0/8", "2001:db8::/32"].map((text) => parseAddressRange(text)!);
  it.each([
    ["10.1.2.3", true],
    ["::ffff:10.1.2.3", true],
    ["2001:db8::1", true],
    ["11.1.2.3", false],
    [undefined, false],
  ])("%s: %s", (client, expected) => {
    const { outside, counted } = outsideOf({ clients });
    const said = outside.answer(queryFor("www.example.com", withEdns), GIVEN, "forward", client, "public");
    if (expected) return expect(said).toBeInstanceOf(Promise);
    const { answer } = atOnce(said);
    expect(answer.outcome).toBe("refused");
    expect(errorsIn(answer.bytes)).toEqual([18]);
    expect(counted()).toEqual({ prohibited: 1 });
  });
});
