import type { Packet } from "dns-packet";
import { describe, expect, it } from "vitest";
import { parseNameserver } from "../../src/forward/local.ts";
import { TooManyFederations } from "../../src/forward/stub-zones.ts";
import { readSourceCluster, withSourceCluster } from "../../src/resolve/query.ts";
import { optRecord } from "../dns/opt-record.ts";
import { errorsIn, followedClock, says, withEdns } from "./fake-forwarder.ts";
import {
  addressOf,
  answerTo,
  dead,
  decoded,
  type Handler,
  openStubs,
  optOf,
  patched,
  queryFor,
  silent,
  slow,
} from "./fake-upstreams.ts";

const NAME = "web.shop.fed.svc.federation";

async function registered(servers: Record<string, Handler>, changes?: Parameters<typeof openStubs>[1]) {
  const opened = await openStubs(servers, changes);
  await opened.stubs.register({ name: "fed", nameservers: Object.keys(servers) });
  return opened;
}

/** What a client gets of a name server. */
async function forwarded(server: Handler, message = queryFor(NAME, withEdns)) {
  const { stubs } = await registered({ one: server });
  return (await stubs.forward(message, undefined))!;
}

describe("which queries are forwarded", () => {
  it.each([
    ["web.shop.fed.svc.federation", true],
    ["WEB.Shop.FED.SVC.Federation", true],
    ["fed.svc.federation", true],
    ["web.shop.fed.svc.eu-west.federation", true],
    ["web.shop.fed.svc.eu-west-1a.eu-west.federation", true],
    ["web.shop.fed.svc.federation.example.com", true],
    ["web.shop.other.svc.federation", false],
    ["web.shop.fed.svc.a.b.c.federation", false],
    ["svc.federation", false],
    ["web.shop.fed.svc.clusterset.local", false],
    ["web.shop.fed.svc.xfederation", false],
  ])("%s: %s", async (name, expected) => {
    const { stubs } = await registered({ one: addressOf("192.0.2.1") });
    expect((await stubs.forward(queryFor(name), undefined)) !== undefined).toBe(expected);
  });

  it.each([
    ["an answer", patched(queryFor(NAME), 2, 0x80)],
    ["a query that is cut off", queryFor(NAME).slice(0, -1)],
    ["a header", queryFor(NAME).slice(0, 11)],
  ])("not %s", async (_, message) => {
    const { stubs } = await registered({ one: addressOf("192.0.2.1") });
    expect(stubs.forward(message, undefined)).toBeUndefined();
  });
});

describe("a name above those of a registered federation exists (RFC 8020)", () => {
  const denial = { bytes: Uint8Array.of(0, 0, 0x80, 0x83), outcome: "nxdomain", freshness: 5 } as const;

  it.each([
    [".", true],
    ["federation", true],
    ["SVC.federation", true],
    ["eu-west.federation", true],
    ["eu-west-1a.eu-west.federation", true],
    ["example.com", true],
    ["svc.federation.example.com", true],
    ["x.eu-west-1a.eu-west.federation", false],
    ["x.svc.eu-west-1a.eu-west.federation", false],
    ["xfederation", false],
  ])("%s: %s", async (name, expected) => {
    const { stubs } = await registered({ one: addressOf("192.0.2.1") });
    const nodata = { ...denial, bytes: Uint8Array.of(0, 0, 0x80, 0x80), outcome: "nodata" };
    expect(stubs.keepAncestor(queryFor(name), denial)).toEqual(expected ? nodata : denial);
  });

  it("while one is registered, and whatever else was answered stays", async () => {
    const { stubs } = await registered({ one: addressOf("192.0.2.1") });
    const given = { ...denial, outcome: "refused" } as const;
    expect(stubs.keepAncestor(queryFor("federation"), given)).toBe(given);
    await stubs.remove("fed");
    expect(stubs.keepAncestor(queryFor("federation"), denial)).toBe(denial);
  });
});

describe("what a name server is sent", () => {
  it.each([
    ["the query's cluster, before the gateway's own", "cluster-b", "cluster-a", "cluster-b"],
    ["the gateway's own for a query without", undefined, "cluster-a", "cluster-a"],
    ["none if there is none", undefined, undefined, undefined],
  ])("is the question, ID 0, RD, CD, and %s, not what a client forged", async (_, view, self, expected) => {
    const { stubs, asked } = await registered({ one: addressOf("192.0.2.1") }, { self });
    await stubs.forward(withSourceCluster(queryFor(NAME, { flags: 0x0130 }), 65001, "forged"), view);
    const { query } = asked[0]!;
    expect(decoded(query)).toMatchObject({ id: 0, flags: 0x0110, questions: [{ name: NAME, type: "A" }] });
    expect(readSourceCluster(query, 65001)).toBe(expected);
    expect(Buffer.from(query).includes("forged")).toBe(false);
  });

  it("gets one query for all equal pending ones, whose clients have IDs and OPT records of their own", async () => {
    const { exchange, release } = slow("192.0.2.1");
    const { stubs, asked } = await registered({ one: exchange });
    const waiting = [
      stubs.forward(queryFor(NAME, { id: 1 }), "cluster-a"),
      stubs.forward(queryFor(NAME, { id: 2, ...withEdns }), "cluster-a"),
      stubs.forward(queryFor(NAME, { id: 3 }), "cluster-b"),
      stubs.forward(queryFor(NAME, { id: 4 }, "AAAA"), "cluster-a"),
    ];
    release();
    const answers = (await Promise.all(waiting)).map((one) => one!.answer.bytes);
    expect(asked).toHaveLength(3);
    expect(answers.map((bytes) => decoded(bytes).id)).toEqual([1, 2, 3, 4]);
    expect(answers.map((bytes) => optOf(bytes) !== undefined)).toEqual([false, true, false, false]);
    await stubs.forward(queryFor(NAME), "cluster-a");
    expect(asked).toHaveLength(4);
  });

  it("is nothing above the bound of queries in flight: SERVFAIL", async () => {
    const { stubs, asked } = await registered({ one: silent }, { limits: { queriesInFlight: 2 } });
    const forward = (label: string) => stubs.forward(queryFor(`${label}.${NAME}`), undefined);
    const waiting = [forward("n1"), forward("n1"), forward("n2")];
    const third = await forward("n3");
    expect(third).toMatchObject({ outcome: "overloaded", answer: { outcome: "servfail", freshness: 0 } });
    expect((await Promise.all(waiting)).map((one) => one?.outcome)).toEqual(Array(3).fill("unreachable"));
    expect(asked).toHaveLength(2);
    expect((await stubs.forward(queryFor(NAME), undefined))?.outcome).toBe("unreachable");
  });
});

it("a query to silent name servers leaves its place to a newer one after 0.2 s", async () => {
  const clock = followedClock();
  const limits = { queriesInFlight: 2, serverMilliseconds: 3000 };
  const { stubs } = await registered({ one: silent }, { limits });
  const forward = (label: string) => stubs.forward(queryFor(`${label}.${NAME}`), undefined);
  const [oldest] = [forward("n1"), forward("n2")];
  expect((await forward("n3"))?.outcome).toBe("overloaded");
  await clock.advance(200);
  const newest = forward("n3");
  expect((await oldest)?.outcome).toBe("overloaded");
  await clock.advance(5000);
  expect((await newest)?.outcome).toBe("unreachable");
});

describe("a record that a name server has no authority for", () => {
  const answersOf = async (answers: NonNullable<Packet["answers"]>) => {
    const { answer } = await forwarded(says({ answers }));
    return decoded(answer.bytes).answers?.map(({ name, type }) => `${name} ${type}`);
  };
  const address = (name: string, data = "192.0.2.1") => ({ type: "A", name, ttl: 60, data }) as const;

  it("is removed: of other names, of the gateway's zones, of other federations", async () => {
    for (const other of ["www.example.com", "web.shop.svc.clusterset.local", "web.shop.other.svc.federation"])
      expect(await answersOf([address(NAME), address(other)]), other).toEqual([`${NAME} A`]);
  });

  it("is removed at a CNAME target; CNAME records to its own names and to names out of zone stay", async () => {
    const through = (target: string) =>
      answersOf([{ type: "CNAME", name: NAME, ttl: 60, data: target }, address(target)]);
    for (const target of ["web.shop.svc.clusterset.local", "web.shop.other.svc.federation"])
      expect(await through(target), target).toEqual([]);
    for (const target of ["lb.example.net", `eu.${NAME}`])
      expect(await through(target), target).toEqual([`${NAME} CNAME`, `${target} A`]);
  });

  it("has private addresses, which stub zones are for, and TTLs of at most a day", async () => {
    const answers = [{ ...address(NAME, "10.0.0.1"), ttl: 1_000_000 }];
    const { answer } = await forwarded(says({ answers }));
    expect(decoded(answer.bytes).answers).toMatchObject([{ data: "10.0.0.1", ttl: 86_400 }]);
    expect(answer.freshness).toBe(86_400);
  });
});

describe("what comes back", () => {
  it("has the client's ID, case and order of records, TTLs untouched, and no OPT unasked", async () => {
    const name = "Web.Shop.Fed.svc.federation";
    const addresses = ["10.0.3.64", "104.32.64.130"];
    const answers = addresses.map((data, at) => ({ type: "A", name, ttl: 60 + at, data }) as const);
    const server = says({ answers, additionals: [optRecord()] });
    const { answer, outcome } = await forwarded(server, queryFor(name));
    expect([outcome, answer.outcome, answer.freshness]).toEqual(["answered", "answer", 60]);
    const flags = { id: 0xabcd, flag_qr: true, flag_aa: true, flag_rd: true, flag_ra: false };
    const sections = { questions: [{ name }], answers, additionals: [] };
    expect(decoded(answer.bytes)).toMatchObject({ ...flags, ...sections });
  });

  const good = (query: Uint8Array) => answerTo(query, {});
  it.each<[string, (query: Uint8Array) => Uint8Array]>([
    ["another ID", (query) => patched(good(query), 1, 9)],
    ["a query", (query) => query],
    ["another opcode", (query) => patched(good(query), 2, 0xa8)],
    ["another name", (query) => patched(good(query), 13, 0x78)],
    ["another type", (query) => patched(good(query), good(query).length - 3, 28)],
    ["another class", (query) => patched(good(query), good(query).length - 1, 3)],
    ["no question", () => Uint8Array.from([0, 0, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 0, 0])],
    ["records that are not there", (query) => patched(good(query), 7, 1)],
    ["nothing", () => new Uint8Array()],
    ["too much", (query) => Uint8Array.from({ length: 65_530 }, (_, at) => good(query)[at] ?? 0)],
  ])("an answer with %s is none: the next name server is asked", async (_, change) => {
    const { stubs, events } = await registered({
      bad: async (query) => change(query),
      good: addressOf("192.0.2.2"),
    });
    const { answer } = (await stubs.forward(queryFor(NAME), undefined))!;
    expect(decoded(answer.bytes).answers).toMatchObject([{ data: "192.0.2.2" }]);
    expect(events).toHaveLength(1);
  });
});

it("name servers that fail are SERVFAIL with Extended DNS Error 22 (RFC 8914 section 4.23) when all do", async () => {
  const { stubs } = await registered({ dead, silent });
  const { answer, outcome } = (await stubs.forward(queryFor(NAME, withEdns), undefined))!;
  expect([outcome, answer.outcome, answer.freshness]).toEqual(["unreachable", "servfail", 0]);
  expect(decoded(answer.bytes)).toMatchObject({ id: 0xabcd, rcode: "SERVFAIL", questions: [{ name: NAME }] });
  expect(errorsIn(answer.bytes)).toEqual([22]);
});

describe("registrations", () => {
  it("are kept, replaced and removed; connections of removed ones are closed", async () => {
    const { stubs, kept, closed } = await openStubs({ one: dead, two: dead });
    expect(await stubs.register({ name: "fed", nameservers: ["one"] })).toBe(true);
    expect(await stubs.register({ name: "fed", nameservers: ["two"] })).toBe(false);
    expect(kept).toEqual([{ name: "fed", nameservers: ["two"] }]);
    expect(closed).toEqual(["one"]);
    expect(await stubs.remove("fed")).toBe(true);
    expect(await stubs.remove("fed")).toBe(false);
    expect([kept, stubs.size, closed]).toEqual([[], 0, ["one", "two"]]);
  });

  it("are bounded", async () => {
    const { stubs } = await openStubs({ one: dead });
    const register = (name: string) => stubs.register({ name, nameservers: ["one"] });
    await Promise.all([register("a"), register("b")]);
    await expect(register("c")).rejects.toThrow(TooManyFederations);
    expect(await register("a")).toBe(false);
  });

  it("of another thread are in force at once: those that are the same keep their connections", async () => {
    const { stubs, closed } = await openStubs({ one: dead, two: dead, three: dead });
    const of = (...servers: [name: string, nameserver: string][]) =>
      servers.map(([name, nameserver]) => ({ name, nameservers: [nameserver] }));
    stubs.replaceAll(of(["a", "one"], ["b", "two"]));
    stubs.replaceAll(of(["a", "one"], ["b", "three"]));
    expect([stubs.list(), closed]).toEqual([of(["a", "one"], ["b", "three"]), ["two"]]);
    stubs.replaceAll([]);
    expect([stubs.list(), closed]).toEqual([[], ["two", "one", "three"]]);
  });

  it("that cannot be kept are not in force, and the next change works", async () => {
    let full = true;
    const keep = async () => {
      if (full) throw new Error("ENOSPC");
    };
    const { stubs } = await openStubs({ one: dead }, { store: { load: async () => [], keep } });
    const registration = { name: "fed", nameservers: ["one"] };
    await expect(stubs.register(registration)).rejects.toThrow("ENOSPC");
    expect(stubs.size).toBe(0);
    full = false;
    expect(await stubs.register(registration)).toBe(true);
  });
});

it.each([
  ["108.45.90.180", { kind: "plain", address: "108.45.90.180", port: 53 }],
  ["10.0.0.1:5353", { kind: "plain", address: "10.0.0.1", port: 5353 }],
  ["fd00::53", { kind: "plain", address: "fd00::53", port: 53 }],
  ["[fd00::53]:5353", { kind: "plain", address: "fd00::53", port: 5353 }],
  ["https://dns.example.org/dns-query", { kind: "https", url: new URL("https://dns.example.org/dns-query") }],
  ["https://[::1]:8443/dns-query{?dns}", { kind: "https", url: new URL("https://[::1]:8443/dns-query") }],
])("%s is a name server", (text, expected) => {
  expect(parseNameserver(text)).toEqual(expected);
});

it.each([
  "",
  "dns.example.org",
  "10.0.0.1:0",
  "10.0.0.1:65536",
  "10.0.0.1:053",
  "[10.0.0.1]:53",
  "fe80::1%eth0",
  "::ffff:10.0.0.1",
  "http://dns.example.org/dns-query",
  "https://user@dns.example.org/",
  "https://dns.example.org/#x",
  "https://",
  "tls://1.1.1.1",
  `https://dns.example.org/${"a".repeat(500)}`,
])("%j is no name server", (text) => {
  expect(parseNameserver(text)).toBeUndefined();
});
