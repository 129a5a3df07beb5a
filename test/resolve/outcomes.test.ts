import { describe, expect, it } from "vitest";
import { notReady } from "../../src/resolve/error-responses.ts";
import { HTTPS, streamTransport, udpTransport } from "../../src/resolve/message/transport.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import { clusterLocalTable } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { twoClusters } from "./world.ts";

const ZONE = "clusterset.local";
const WEB = `web.shop.svc.${ZONE}`;
/** TTLs differ, so that each answer shows which one it has. */
const world = compileWorld(twoClusters(), { ttl: 40, negativeTtl: 7 });
const designated = { name: "dns.example.org", addresses: [], endpoints: [] };

const changed = (query: Uint8Array, at: number, byte: number) =>
  query.map((old, index) => (index === at ? byte : old));
const last = (query: Uint8Array, byte: number) => changed(query, query.length - 1, byte);

function outcomeOf(query: Uint8Array, context: Partial<ResolveContext> = {}) {
  const { outcome, freshness, outOfZone, isAncestor } = resolve(query, { ...world, ...context })!;
  return [outcome, freshness, ...(outOfZone ? [outOfZone] : []), ...(isAncestor ? ["ancestor"] : [])];
}

describe("the outcome of a query, and how long caches keep its answer (RFC 8484 section 5.1)", () => {
  it.each([
    [WEB, "A", ["answer", 40]],
    [WEB, "TXT", ["nodata", 7]],
    [WEB, "ANY", ["answer", 7]],
    [`shop.svc.${ZONE}`, "A", ["nodata", 7]],
    [`_pg._tcp.db.shop.svc.${ZONE}`, "SRV", ["answer", 40]],
    [`nothing.shop.svc.${ZONE}`, "A", ["nxdomain", 7]],
    [ZONE, "SOA", ["answer", 7]],
    [ZONE, "NS", ["answer", 7]],
    [ZONE, "ANY", ["answer", 7]],
    [ZONE, "A", ["nodata", 7]],
    ["1.0.1.10.in-addr.arpa", "PTR", ["answer", 40]],
    ["1.0.1.10.in-addr.arpa", "SOA", ["answer", 7]],
    ["1.0.1.10.in-addr.arpa", "ANY", ["answer", 7]],
    ["1.0.1.10.in-addr.arpa", "A", ["nodata", 7]],
    [ZONE, "AXFR", ["refused", 0]],
    [ZONE, "IXFR", ["refused", 0]],
    [WEB, "OPT", ["formerr", 0]],
    ["www.example.com", "A", ["refused", 0, "no-zone"]],
    ["local", "A", ["refused", 0, "no-zone", "ancestor"]],
    ["_dns.resolver.arpa", "A", ["nodata", 300]],
    ["resolver.arpa", "SOA", ["answer", 300]],
  ])("%s %s", (name, type, expected) => {
    for (const edns of [false, true]) expect(outcomeOf(encodeQuery(name, type, edns))).toEqual(expected);
  });

  it.each([
    ["www.example.com", ["nxdomain", 0, "no-zone"]],
    ["local", ["nodata", 0, "no-zone", "ancestor"]],
    ["9.9.9.10.in-addr.arpa", ["nxdomain", 0, "no-zone"]],
  ])("%s with NXDOMAIN out of zone", (name, expected) => {
    expect(outcomeOf(encodeQuery(name, "A"), { outside: "nxdomain" })).toEqual(expected);
  });

  it("of a query that is malformed, has another opcode, class or version of EDNS", () => {
    const query = encodeQuery(WEB, "A", false);
    const withOpt = encodeQuery(WEB, "A");
    expect(outcomeOf(changed(query, 5, 2))).toEqual(["formerr", 0]);
    expect(outcomeOf(changed(query, 2, 0x20))).toEqual(["notimp", 0]);
    expect(outcomeOf(last(query, 3))).toEqual(["refused", 0]);
    expect(outcomeOf(changed(withOpt, withOpt.length - 5, 1))).toEqual(["badvers", 0]);
  });

  it("before the first push is the same where it does not depend on data, else SERVFAIL", () => {
    const query = encodeQuery(WEB, "A", false);
    const withOpt = encodeQuery(WEB, "A");
    const early = (sent: Uint8Array) => {
      const { outcome, freshness, outOfZone } = notReady(sent, { designated })!;
      return [outcome, freshness, outOfZone];
    };
    expect(early(query)).toEqual(["servfail", 0, "unknown"]);
    expect(early(changed(query, 5, 2))).toEqual(["formerr", 0, undefined]);
    expect(early(changed(query, 2, 0x20))).toEqual(["notimp", 0, undefined]);
    expect(early(changed(withOpt, withOpt.length - 5, 1))).toEqual(["badvers", 0, undefined]);
    expect(early(encodeQuery("_dns.resolver.arpa", "A"))).toEqual(["nodata", 300, undefined]);
  });

  it("a TTL is bounded by its lease, down to the whole second", () => {
    const expiring = (at: number) => ({ leases: leasesUntil(() => at), now: 1000 });
    expect(outcomeOf(encodeQuery(WEB, "A"), expiring(41_000))).toEqual(["answer", 40]);
    expect(outcomeOf(encodeQuery(WEB, "A"), expiring(40_999))).toEqual(["answer", 39]);
    expect(outcomeOf(encodeQuery(WEB, "A"), expiring(1_999))).toEqual(["answer", 0]);
    expect(outcomeOf(encodeQuery(WEB, "A"), expiring(0))).toEqual(["answer", 0]);
    expect(outcomeOf(encodeQuery("1.0.1.10.in-addr.arpa", "PTR"), expiring(3_500))).toEqual(["answer", 2]);
  });
});

describe("names of pods (DNS-based service discovery 1.0.1 section 2.6)", () => {
  const cluster = compileTable(clusterLocalTable);
  const pod = (label: string, type: string, edns = true) =>
    resolve(encodeQuery(`${label}.default.pod.cluster.local`, type, edns), { ...cluster, view: "east" })!;

  it.each([
    ["1-2-3-4", "A", "answer", 1],
    ["1-2-3-4", "AAAA", "nodata", 0],
    ["1-2-3-4", "ANY", "answer", 1],
    ["1-2-3-4", "TXT", "nodata", 0],
    ["2001-db8--1", "AAAA", "answer", 1],
    ["2001-db8--1", "A", "nodata", 0],
    ["1-2-3", "A", "nxdomain", 0],
    ["x", "A", "nxdomain", 0],
  ])("%s %s", (label, type, outcome, answers) => {
    const answer = pod(label, type);
    expect({ outcome: answer.outcome, answers: answer.bytes[7] }).toEqual({ outcome, answers });
    expect(answer.freshness).toBeGreaterThan(0);
  });

  it("are answered in namespaces that the cluster has, and only there", () => {
    const of = (name: string) => resolve(encodeQuery(name, "A"), { ...cluster, view: "east" })!.outcome;
    expect(of("1-2-3-4.nothing.pod.cluster.local")).toBe("nxdomain");
    expect(of("1-2-3-4.pod.cluster.local")).toBe("nxdomain");
    expect(of("x.1-2-3-4.default.pod.cluster.local")).toBe("nxdomain");
    expect(of("1-2-3-4.default.svc.cluster.local")).toBe("nxdomain");
  });
});

it("transports have the properties that answers depend on", () => {
  const { name, ...https } = HTTPS;
  expect(name).toBe("https");
  expect(https).toEqual({
    ...{ longestAnswer: 65_535, longestPlainAnswer: 2999, isDatagram: false, isEncrypted: true },
    keepaliveTimeout: undefined,
  });
  expect(udpTransport(1400)).toEqual({
    ...{ name: "udp", longestAnswer: 1400, longestPlainAnswer: 512, isDatagram: true, isEncrypted: false },
    keepaliveTimeout: undefined,
  });
  const stream = { longestAnswer: 65_535, longestPlainAnswer: 65_535, isDatagram: false };
  expect(streamTransport("tcp", 1_999)).toEqual({
    name: "tcp",
    ...stream,
    isEncrypted: false,
    keepaliveTimeout: 19,
  });
  expect(streamTransport("dot", 1e9)).toEqual({
    name: "dot",
    ...stream,
    isEncrypted: true,
    keepaliveTimeout: 65_535,
  });
});
