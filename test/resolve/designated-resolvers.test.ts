import dnsPacket from "dns-packet";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../../src/dns/address.ts";
import type { DesignatedResolver } from "../../src/resolve/designated-resolvers.ts";
import { udpTransport } from "../../src/resolve/message-writer.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import { localityView } from "../../src/zone/world.ts";
import { ask, compileWorld, encodeQuery } from "./ask.ts";
import { formatServiceBinding } from "./service-binding.ts";
import { twoClusters } from "./world.ts";

const designated: DesignatedResolver = {
  name: "dns.example.org",
  addresses: ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map((text) => parseAddress(text)!),
  endpoints: [
    { protocol: "https", port: 8443 },
    { protocol: "dot", port: 853, view: undefined },
    { protocol: "dot", port: 8853, view: "west" },
  ],
};
const world = compileWorld(twoClusters(), {}, { designated });
const HINTS = "ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1";
const DOH = `1 dns.example.org. alpn=h2 port=8443 ${HINTS} dohpath=/dns-query{?dns}`;
const DOT = `2 dns.example.org. alpn=dot ${HINTS}`;
const LOCAL_SOA = "resolver.arpa 300 SOA resolver.arpa nobody.invalid 1 7200 1800 86400 300";

/** SVCB records and additional addresses of an answer in text. */
function bindings(bytes: Uint8Array) {
  const message = dnsPacket.decode(Buffer.from(bytes)) as dnsPacket.DecodedPacket & {
    flag_aa: boolean;
    flag_tc: boolean;
  };
  const answers = (message.answers ?? []).map((record) => {
    const { name, ttl, data } = record as unknown as { name: string; ttl: number; data: Buffer };
    return `${name} ${ttl} SVCB ${formatServiceBinding(new Uint8Array(data))}`;
  });
  const additionals = (message.additionals ?? []).flatMap((record) =>
    record.type === "A" || record.type === "AAAA"
      ? [`${record.name} ${record.ttl} ${record.type} ${record.data}`]
      : [],
  );
  return { answers, additionals, authoritative: message.flag_aa, truncated: message.flag_tc };
}

const askBindings = (name: string, context = world) =>
  bindings(resolve(encodeQuery(name, "UNKNOWN_64"), context)!.bytes);

describe("SVCB at _dns.resolver.arpa", () => {
  it("lists the encrypted resolvers (RFC 9462 section 4, RFC 9461 sections 4 and 5), in any case", () => {
    expect(askBindings("_DNS.Resolver.ARPA")).toEqual({
      answers: [`_DNS.Resolver.ARPA 300 SVCB ${DOH}`, `_DNS.Resolver.ARPA 300 SVCB ${DOT}`],
      additionals: [
        "dns.example.org 300 A 192.0.2.1",
        "dns.example.org 300 A 192.0.2.2",
        "dns.example.org 300 AAAA 2001:db8::1",
      ],
      authoritative: true,
      truncated: false,
    });
  });

  it("omits default ports (RFC 9461 section 4.2), and hints without known addresses", () => {
    const plain: DesignatedResolver = {
      name: "dns.example.org",
      addresses: [],
      endpoints: [
        { protocol: "https", port: 443 },
        { protocol: "dot", port: 8853, view: undefined },
      ],
    };
    expect(askBindings("_dns.resolver.arpa", { ...world, designated: plain })).toMatchObject({
      answers: [
        "_dns.resolver.arpa 300 SVCB 1 dns.example.org. alpn=h2 dohpath=/dns-query{?dns}",
        "_dns.resolver.arpa 300 SVCB 2 dns.example.org. alpn=dot port=8853",
      ],
      additionals: [],
    });
  });

  it("keeps the view: a cluster finds only endpoints with its own view", () => {
    const of = (view: string) => askBindings("_dns.resolver.arpa", { ...world, view }).answers;
    const path = "dohpath=/clusters/west/dns-query{?dns}";
    expect(of("west")).toEqual([
      `_dns.resolver.arpa 300 SVCB 1 dns.example.org. alpn=h2 port=8443 ${HINTS} ${path}`,
      `_dns.resolver.arpa 300 SVCB 2 dns.example.org. alpn=dot port=8853 ${HINTS}`,
    ]);
    expect(of("east")).toHaveLength(1);
  });

  it.each([{ region: "eu" }, { region: "eu", zone: "eu-1" }])(
    "are those of outside for a client of %j",
    (locality) => {
      const { answers } = askBindings("_dns.resolver.arpa", { ...world, view: localityView(locality) });
      expect(answers).toEqual([DOH, DOT].map((one) => `_dns.resolver.arpa 300 SVCB ${one}`));
    },
  );

  it("is NODATA on a listener with an access rule, whose clients other endpoints may reject", () => {
    const transport = { ...udpTransport(1232), isOfRule: true };
    for (const name of ["_dns.resolver.arpa", "_dns.dns.example.org"])
      expect(askBindings(name, { ...world, transport }).answers).toEqual([]);
    expect(ask({ ...world, transport }, "_dns.resolver.arpa", "UNKNOWN_64").rcode).toBe("NOERROR");
  });

  it("is answered before the first push", () => {
    const query = encodeQuery("_dns.resolver.arpa", "UNKNOWN_64");
    expect(bindings(notReady(query, { designated })!.bytes).answers).toHaveLength(2);
  });

  it("is whole or truncated over UDP", () => {
    const addresses = Array.from({ length: 20 }, (_, index) => parseAddress(`2001:db8::${index}`)!);
    const many = { ...world, designated: { ...designated, addresses }, transport: udpTransport(1232) };
    const plain = encodeQuery("_dns.resolver.arpa", "UNKNOWN_64", false);
    expect(bindings(resolve(plain, many)!.bytes)).toMatchObject({ answers: [], truncated: true });
    const few = askBindings("_dns.resolver.arpa", many);
    expect(few).toMatchObject({ truncated: false, answers: { length: 2 } });
    expect(few.additionals.length).toBeLessThan(20);
  });
});

describe("SVCB at the name of the resolver (RFC 9462 section 5)", () => {
  it("equals the one at _dns.resolver.arpa", () => {
    expect(askBindings("_dns.dns.example.org").answers).toEqual([
      `_dns.dns.example.org 300 SVCB ${DOH}`,
      `_dns.dns.example.org 300 SVCB ${DOT}`,
    ]);
  });

  it("is answered for a name in one of our own zones", () => {
    const own = { ...world, designated: { ...designated, name: "doh.clusterset.local" } };
    expect(askBindings("_dns.doh.clusterset.local", own).answers).toHaveLength(2);
    expect(ask(own, "_dns.web.clusterset.local", "A").rcode).toBe("NXDOMAIN");
  });

  it("is NODATA for other types, with a SOA of its own", () => {
    expect(ask(world, "_dns.dns.example.org", "A")).toMatchObject({
      rcode: "NOERROR",
      answer: [],
      authority: ["_dns.dns.example.org 300 SOA _dns.dns.example.org nobody.invalid 1 7200 1800 86400 300"],
    });
  });

  it.each(["dns.example.org", "_dns.example.org", "x._dns.dns.example.org", "_dns.dns.example.org.test"])(
    "%s is out of zone",
    (name) => {
      expect(ask(world, name, "A").rcode).toBe("REFUSED");
    },
  );
});

describe("resolver.arpa is served locally (RFC 9462 sections 4, 6.1 and 6.4): NODATA for everything else", () => {
  it.each([
    ["_dns.resolver.arpa", "A"],
    ["_dns.resolver.arpa", "ANY"],
    ["_dns.resolver.arpa", "SOA"],
    ["resolver.arpa", "A"],
    ["resolver.arpa", "NS"],
    ["resolver.arpa", "UNKNOWN_64"],
    ["www.resolver.arpa", "A"],
    ["_dns._dns.resolver.arpa", "UNKNOWN_64"],
    ["_8443._dns.resolver.arpa", "UNKNOWN_64"],
  ])("%s %s is NODATA", (name, type) => {
    for (const context of [world, { ...world, designated: undefined, outside: "nxdomain" as const }])
      expect(ask(context, name, type)).toEqual({
        rcode: "NOERROR",
        authoritative: true,
        truncated: false,
        answer: [],
        authority: [LOCAL_SOA],
        additional: [],
      });
  });

  it("without a designated resolver, or an endpoint for the view, its SVCB record is NODATA, too", () => {
    for (const none of [undefined, { ...designated, endpoints: [] }])
      expect(ask({ ...world, designated: none }, "_dns.resolver.arpa", "UNKNOWN_64")).toMatchObject({
        rcode: "NOERROR",
        answer: [],
        authority: [LOCAL_SOA],
      });
  });

  it("answers queries for its SOA record (RFC 6303 section 3)", () => {
    expect(ask(world, "resolver.arpa", "SOA")).toMatchObject({ answer: [LOCAL_SOA], authority: [] });
  });

  it.each(["xresolver.arpa", "resolver.arpa.test", "arpa"])("%s is not in it", (name) => {
    expect(ask(world, name, "A").rcode).toBe("REFUSED");
  });
});
