import type { Packet } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CachedAnswer } from "../../src/forward/cached-answer.ts";
import { readForwardable } from "../../src/forward/stub-zones.ts";
import { readUpstreamAnswer, upstreamQuery } from "../../src/forward/upstream.ts";
import { optRecord } from "../dns/opt-record.ts";
import { errorsIn, soaRecord, withEdns } from "./fake-forwarder.ts";
import { answerTo, decoded, optOf, queryFor } from "./fake-upstreams.ts";

const NAME = "www.example.com";
const BOUNDS = { minimumTtlSeconds: 0, maximumTtlSeconds: 86_400, maximumNegativeTtlSeconds: 3600 };
const DAY = 86_400_000;

const address = (ttl: number, name = NAME) => ({ type: "A", name, ttl, data: "192.0.2.1" }) as const;
const alias = (ttl: number) => ({ type: "CNAME", name: NAME, ttl, data: "x.example.com" }) as const;

/** Keeps what an upstream says at time 0. */
function keep(packet: Packet & { rcode?: number }, bounds = BOUNDS, type = "A"): CachedAnswer {
  const query = upstreamQuery(readForwardable(queryFor(NAME, {}, type))!);
  const answer = readUpstreamAnswer(query, answerTo(query, packet));
  return new CachedAnswer({ answer: answer!, upstream: "one" }, bounds, 0);
}

/** The answer to a client after so many seconds. */
function answerAt(kept: CachedAnswer, seconds: number, message = queryFor(NAME), isStale = false) {
  const given = kept.answer(message, readForwardable(message)!, seconds * 1000, isStale);
  const packet = decoded(given.bytes);
  const ttls = (section: readonly object[] = []) =>
    section.flatMap((record) =>
      "ttl" in record && !("udpPayloadSize" in record) ? [record.ttl as number] : [],
    );
  return {
    ...given,
    packet,
    ttls: [...ttls(packet.answers), ...ttls(packet.authorities), ...ttls(packet.additionals)],
  };
}

describe("how long an answer is kept, in seconds", () => {
  const denial = (ttl: number, minimum: number) => ({ authorities: [soaRecord(ttl, minimum)] });
  const authority = (name: string) => ({ authorities: [{ type: "NS", name, ttl: 5, data: "ns" } as const] });

  it.each<[string, Packet & { rcode?: number }, number]>([
    ["the smallest TTL of the answer (RFC 8484 section 5.1)", { answers: [address(60), address(30)] }, 30],
    ["for any authority and additional records", { answers: [address(60)], ...authority(NAME) }, 60],
    ["TTL 0: not at all (RFC 1035 section 3.2.1)", { answers: [address(0)] }, 0],
    ["a TTL with the highest bit: as 0 (RFC 2181 section 8)", { answers: [address(0x80000001)] }, 0],
    ["the bound, where the TTL is longer", { answers: [address(604_800)] }, 86_400],
    ["NXDOMAIN: the SOA's MINIMUM (RFC 2308 section 5)", { rcode: 3, ...denial(900, 300) }, 300],
    ["NXDOMAIN: the SOA's TTL where it is smaller", { rcode: 3, ...denial(120, 300) }, 120],
    ["NXDOMAIN: at most the bound of negative answers", { rcode: 3, ...denial(86_400, 86_400) }, 3600],
    ["NODATA behind an alias: the smaller one of both", { answers: [alias(20)], ...denial(900, 40) }, 20],
    ["NODATA behind an alias without SOA: not at all", { answers: [alias(86_400)] }, 0],
    ["NXDOMAIN without SOA: not at all (RFC 2308 section 5)", { rcode: 3 }, 0],
    ["NODATA without SOA: not at all", {}, 0],
    ["NODATA with a referral: not at all", authority("com"), 0],
    ["SERVFAIL: 5 (RFC 2308 section 7.1, RFC 9520 section 3.2)", { rcode: 2 }, 5],
    ["a truncated answer: not at all (RFC 2181 section 9)", { flags: 0x8380, answers: [address(60)] }, 0],
  ])("%s", (_, packet, expected) => {
    const kept = keep(packet);
    expect(kept.isCacheable).toBe(expected > 0);
    expect(kept.isFreshAt(Math.max(0, expected * 1000 - 1))).toBe(expected > 0);
    expect(kept.isFreshAt(expected * 1000)).toBe(false);
  });

  it.each(["CNAME", "ANY"])("of an alias itself for a question of type %s: its TTL", (type) => {
    expect(keep({ answers: [alias(60)] }, BOUNDS, type).isFreshAt(59_999)).toBe(true);
  });

  it("raises TTLs to the lower bound, but not those of what does not exist", () => {
    const bounds = { ...BOUNDS, minimumTtlSeconds: 60 };
    const raised = answerAt(keep({ answers: [address(0), address(90)] }, bounds), 0);
    expect(raised).toMatchObject({ ttls: [60, 90], freshness: 60 });
    expect(keep({}, bounds).isCacheable).toBe(false);
    const denied = answerAt(keep({ rcode: 3, ...denial(9, 9) }, bounds), 0);
    expect(denied).toMatchObject({ ttls: [9], freshness: 9 });
  });
});

describe("an answer out of the cache", () => {
  it("has the client's ID, spelling, RD and CD, and RA; neither AA nor AD (RFC 4035 section 3.2.3)", () => {
    const kept = keep({ flags: 0x85a0, answers: [address(60)] });
    const message = queryFor("wWw.ExAmple.coM", { id: 0x1234, flags: 0x0130 });
    const { packet } = answerAt(kept, 0, message);
    const set = { flag_qr: true, flag_rd: true, flag_cd: true, flag_ra: true };
    const questions = [{ name: "wWw.ExAmple.coM", type: "A" }];
    expect(packet).toMatchObject({ id: 0x1234, ...set, flag_aa: false, flag_ad: false, questions });
    expect(packet.answers).toMatchObject([{ data: "192.0.2.1" }]);
    expect(answerAt(kept, 0, queryFor(NAME, { flags: 0x0100 })).packet.flag_cd).toBe(false);
  });

  it("has an OPT record of ours only where the client sent one, with the upstream's Extended DNS Error", () => {
    const options = [
      { code: 15, data: Buffer.from([0, 17, 0x78]) },
      { code: "CLIENT_SUBNET", ip: "10.0.0.0", family: 1 },
    ];
    const kept = keep({ rcode: 3, authorities: [soaRecord(60, 60)], additionals: [optRecord(options)] });
    expect(answerAt(kept, 0).packet.additionals).toEqual([]);
    const { bytes } = answerAt(kept, 0, queryFor(NAME, withEdns));
    expect(optOf(bytes)).toMatchObject({
      udpPayloadSize: 1232,
      options: [{ code: 15, data: Buffer.from([0, 17]) }],
    });
  });

  it("counts TTLs down by whole seconds, whatever they are", () => {
    const ttl = fc.nat(0x7fffffff);
    fc.assert(
      fc.property(fc.array(ttl, { minLength: 1, maxLength: 20 }), fc.nat(200_000), (ttls, seconds) => {
        const kept = keep({ answers: ttls.map((one) => address(one)) });
        const bounded = ttls.map((one) => Math.min(one, 86_400));
        const given = answerAt(kept, seconds);
        expect(given.ttls).toEqual(bounded.map((one) => Math.max(0, one - seconds)));
        expect(given.freshness).toBe(Math.max(0, Math.min(...bounded) - seconds));
        // As fresh as it says: a cache behind us may not keep it longer than we do.
        expect(kept.isFreshAt(seconds * 1000)).toBe(given.freshness > 0);
      }),
    );
  });

  it.each([
    ["SERVFAIL has no freshness", { rcode: 2 }, 0, []],
    ["SERVFAIL that came a while ago says Cached Error (RFC 8914 section 4.14)", { rcode: 2 }, 2, [13]],
    [
      "unless the upstream's error says more",
      { rcode: 2, additionals: [optRecord([{ code: 15, data: Buffer.from([0, 6]) }])] },
      2,
      [6],
    ],
  ])("%s", (_, packet, seconds, errors) => {
    const given = answerAt(keep(packet), seconds, queryFor(NAME, withEdns));
    expect(given.freshness).toBe(0);
    expect(errorsIn(given.bytes)).toEqual(errors);
  });
});

describe("a stale answer (RFC 8767)", () => {
  it.each([
    ["an answer: Stale Answer (RFC 8914 section 4.4)", { answers: [address(60), address(5)] }, [30, 30], 3],
    [
      "NXDOMAIN: Stale NXDOMAIN Answer (section 4.20)",
      { rcode: 3, authorities: [soaRecord(60, 60)] },
      [30],
      19,
    ],
  ])("%s, with TTL 30 (section 4)", (_, packet, ttls, error) => {
    const given = answerAt(keep(packet), 1000, queryFor(NAME, withEdns), true);
    expect(given).toMatchObject({ ttls, freshness: 30 });
    expect(errorsIn(given.bytes)).toEqual([error]);
  });

  it("is one until so long after its TTL; a failure never is", () => {
    const kept = keep({ answers: [address(60)] });
    expect(kept.isStaleAt(60_000 + DAY - 1, DAY)).toBe(true);
    expect(kept.isStaleAt(60_000 + DAY, DAY)).toBe(false);
    expect(kept.isStaleAt(60_000, 0)).toBe(false);
    expect(keep({ rcode: 2 }).isStaleAt(6000, DAY)).toBe(false);
  });
});

it("takes about as much memory as its bytes, and keeps no larger buffer alive", () => {
  const query = upstreamQuery(readForwardable(queryFor(NAME))!);
  const large = Buffer.concat([Buffer.alloc(60_000), answerTo(query, { answers: [address(60)] })]);
  const answer = readUpstreamAnswer(query, large.subarray(60_000))!;
  const kept = new CachedAnswer({ answer, upstream: "one" }, BOUNDS, 0);
  large.fill(0);
  expect(kept.size).toBeLessThan(1000);
  expect(answerAt(kept, 0).packet.answers).toMatchObject([{ data: "192.0.2.1" }]);
});
