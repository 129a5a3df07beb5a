import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HTTPS, streamTransport, type Transport, udpTransport } from "../../src/resolve/message-writer.ts";
import { answerTruncated, fitAnswer, type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import { clusterLocalTable } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { endpoints, exporting } from "../merge/fixtures.ts";
import { expectMet } from "../property-share.ts";
import { compileWorld, type Decoded, decode, encodeQuery } from "./ask.ts";
import { optionsOf, type QueryOptions, queryWith } from "./edns.ts";
import { extendedErrors } from "./extended-errors.ts";
import { CHAIN_LENGTH, chainName, largeWorld, SIZES } from "./large-world.ts";
import { twoClusters } from "./world.ts";

describe("transports", () => {
  /** So long that the SOA of a reverse name, which contains it twice, does not always fit. */
  const LONG_ZONE = `${"z".repeat(63)}.${"z".repeat(63)}.${"z".repeat(60)}.test`;
  const TCP = streamTransport("tcp", 30_000);
  const DOT = streamTransport("dot", 30_000);
  const UDP = udpTransport(1232);
  const world = compileWorld(largeWorld(), { zones: ["clusterset.local", LONG_ZONE] }, { view: "east" });
  const longWorld = compileWorld(largeWorld(), { zones: [LONG_ZONE] }, { view: "east" });
  const sized = (size: number) => `sized-${size}.shop.svc.clusterset.local`;

  function answerOver(transport: Transport, name: string, type: string, options: QueryOptions = {}) {
    const { bytes } = resolve(queryWith(name, type, options), { ...world, transport })!;
    return { bytes, ...decode(bytes) };
  }

  describe("over TCP and TLS", () => {
    it("the timeout of a connection is at most 65,535 times 100 ms (RFC 7828 section 3.1)", () => {
      expect(streamTransport("dot", 1e9).keepaliveTimeout).toBe(65_535);
    });

    it("clients without EDNS get all addresses, since curl does not use them", () => {
      expect(answerOver(HTTPS, sized(400), "A").answer.length).toBeLessThan(400);
      for (const transport of [TCP, DOT])
        expect(answerOver(transport, sized(400), "A").answer).toHaveLength(400);
    });

    it("the payload size has no effect (RFC 6891 section 6.2.3)", () => {
      expect(answerOver(TCP, sized(400), "A", { payload: 512 }).answer).toHaveLength(400);
    });

    it("a client that requests it gets the idle timeout in units of 100 ms (RFC 7828 section 3.1)", () => {
      const keepalive = { payload: 1232, codes: [11] };
      expect(optionsOf(answerOver(TCP, sized(1), "A", keepalive).bytes)).toEqual({ 11: [1, 44] });
      expect(optionsOf(answerOver(DOT, "example.com", "A", keepalive).bytes)).toMatchObject({ 11: [1, 44] });
      // At the limit its bytes are reserved.
      expect(answerOver(TCP, sized(3000), "A", keepalive).bytes.length).toBeLessThanOrEqual(65_535);
    });

    it.each([
      ["UDP (RFC 7828 section 3.2.1)", UDP],
      ["HTTPS", HTTPS],
    ])("over %s a client does not get it", (_, transport) => {
      expect(optionsOf(answerOver(transport, sized(1), "A", { payload: 1232, codes: [11] }).bytes)).toEqual(
        {},
      );
    });
  });

  it.each([
    ["over TLS", DOT, true],
    ["over HTTPS", HTTPS, true],
    ["in clear over UDP", UDP, false],
    ["in clear over TCP", TCP, false],
  ])("an answer is padded (RFC 7830 section 6, RFC 8467) or not: %s", (_, transport, isPadded) => {
    const { bytes } = answerOver(transport, sized(1), "A", { payload: 1232, codes: [12] });
    expect(12 in optionsOf(bytes)!).toBe(isPadded);
    expect(bytes.length % 468 === 0).toBe(isPadded);
  });

  describe("answers from another transport", () => {
    const query = queryWith(sized(400), "A", { payload: 1232 });
    const large = resolve(query, { ...world, transport: HTTPS })!;

    it("are truncated if they do not fit, and keep their rcode", () => {
      const refused = large.bytes.with(3, 5);
      const fitted = fitAnswer(query, { ...large, bytes: refused }, UDP);
      expect(decode(fitted.bytes)).toMatchObject({ truncated: true, answer: [], rcode: "REFUSED" });
      expect(fitted).toMatchObject({ freshness: 0, outcome: "answer" });
      expect(fitted.bytes.length).toBe(query.length);
    });

    it("keep AA and RA when truncated: glibc takes an empty answer without both for a referral", () => {
      const flagsOf = (bytes: Uint8Array) => [(bytes[2]! & 4) !== 0, (bytes[3]! & 128) !== 0];
      for (const [high, low, expected] of [
        [4, 0, [true, false]],
        [0, 128, [false, true]],
      ] as const) {
        const bytes = large.bytes.slice();
        bytes[2] = (bytes[2]! & ~4) | high;
        bytes[3] = low;
        expect(flagsOf(fitAnswer(query, { ...large, bytes }, UDP).bytes)).toEqual(expected);
      }
      expect(flagsOf(answerTruncated(query, UDP)!)).toEqual([true, false]);
    });

    it("do not change if they fit, to the byte", () => {
      expect(fitAnswer(query, large, DOT)).toBe(large);
      const bytes = large.bytes.slice(0, 1232);
      const exact = { ...large, bytes };
      expect(fitAnswer(query, exact, UDP)).toBe(exact);
      expect(fitAnswer(query, { ...exact, bytes: large.bytes.slice(0, 1233) }, UDP).bytes).toHaveLength(
        query.length,
      );
      const small = resolve(queryWith(sized(1), "A", {}), world)!;
      expect(fitAnswer(queryWith(sized(1), "A", {}), small, UDP)).toBe(small);
    });

    it("do not change if the query is malformed: its payload size is unknown", () => {
      expect(fitAnswer(Uint8Array.from([...query, 0]), large, UDP)).toBe(large);
    });
  });

  it("a truncated answer has only the question and OPT", () => {
    const query = queryWith("example.com", "A", { payload: 1232 });
    const empty = { truncated: true, rcode: "NOERROR", answer: [] };
    expect(decode(answerTruncated(query, UDP)!)).toMatchObject(empty);
    expect(answerTruncated(query, UDP)).toHaveLength(query.length);
    // It is not padded: a datagram is not encrypted.
    const padded = queryWith("example.com", "A", { payload: 1232, codes: [12] });
    expect(answerTruncated(padded, UDP)).toHaveLength(query.length);
    expect(answerTruncated(Uint8Array.from([...padded, 0]), UDP)).toHaveLength(23);
    expect(answerTruncated(query.subarray(0, 20), UDP)).toHaveLength(12);
    expect(answerTruncated(Uint8Array.of(0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0), UDP)).toBeUndefined();
  });

  const names = [
    ...SIZES.flatMap((size) => [sized(size), `_http._tcp.${sized(size)}`]),
    ...Array.from({ length: CHAIN_LENGTH }, (_, index) => [
      chainName(index, "found"),
      chainName(index, "lost"),
    ]).flat(),
    "1-2-3-4.default.pod.cluster.local",
    "chained.default.svc.cluster.local",
    "dns-version.clusterset.local",
    "clusterset.local",
    LONG_ZONE,
    `nothing.${LONG_ZONE}`,
    "0.0.3.10.in-addr.arpa",
    "www.example.com",
    "_dns.resolver.arpa",
  ];
  const types = ["A", "AAAA", "SRV", "TXT", "SOA", "NS", "PTR", "ANY", "CNAME", "AXFR"];

  it("any answer over UDP is whole where it fits, or has TC", () => {
    let runs = 0;
    let truncated = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.constantFrom(...types),
        fc.option(fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.nat(65_535)), { nil: undefined }),
        fc.subarray([11, 12, 10]),
        fc.integer({ min: 512, max: 4096 }),
        fc.nat(),
        fc.constantFrom(world, longWorld),
        (name, type, payload, codes, bound, rotation, compiled) => {
          runs++;
          const query = queryWith(name, type, payload === undefined ? {} : { payload, codes });
          const context: ResolveContext = { ...compiled, rotation, transport: udpTransport(bound) };
          const { bytes, freshness } = resolve(query, context)!;
          // RFC 1035 section 4.2.1, RFC 6891 section 6.2.5
          const most = Math.min(bound, Math.max(512, payload ?? 0));
          expect(bytes.length).toBeLessThanOrEqual(most);
          const seen = decode(bytes);
          const overTcp = resolve(query, { ...context, transport: TCP })!.bytes;
          const whole = decode(overTcp);
          if (overTcp.length <= most) expect(seen).toEqual(whole);
          expect(optionsOf(bytes) === undefined).toBe(payload === undefined);
          expect(seen.rcode === whole.rcode || seen.truncated).toBe(true);
          const complete =
            isDeepStrictEqual(seen.answer, whole.answer) &&
            isDeepStrictEqual(seen.authority, whole.authority);
          expect(seen.truncated).toBe(!complete || whole.truncated);
          expectWholeSets(seen, whole);
          if (seen.truncated) {
            truncated++;
            expect({ freshness, additional: seen.additional }).toEqual({ freshness: 0, additional: [] });
          }
        },
      ),
      { numRuns: 3000 },
    );
    expectMet(truncated, runs / 30);
  });

  /** Checks that every RRset of the answer is the same over TCP. */
  function expectWholeSets(seen: Decoded, whole: Decoded): void {
    const sets = ({ answer }: Decoded) =>
      Map.groupBy(answer, (record) => record.replace(/ \d+ (\S+) .*/, " $1"));
    const all = sets(whole);
    for (const [key, records] of sets(seen)) expect(records).toEqual(all.get(key));
  }
});

describe("an answer at its bound", () => {
  const endpoint = { protocol: "dot", port: 853, view: undefined } as const;
  const designated = { name: "dns.example.org", addresses: [], endpoints: [endpoint] };
  const world = compileWorld(twoClusters(), {}, { designated });
  const cluster = { ...compileTable(clusterLocalTable), view: "east" };
  const TCP = streamTransport("tcp", 30_000);

  it.each<readonly [string, string, ResolveContext]>([
    ["web.shop.svc.clusterset.local", "A", world],
    ["web.shop.svc.clusterset.local", "AAAA", world],
    ["db.shop.svc.clusterset.local", "A", world],
    ["web.shop.svc.clusterset.local", "TXT", world],
    ["nothing.clusterset.local", "A", world],
    ["clusterset.local", "SOA", world],
    ["clusterset.local", "NS", world],
    ["dns-version.clusterset.local", "TXT", world],
    ["1.0.1.10.in-addr.arpa", "SOA", world],
    ["1.0.1.10.in-addr.arpa", "A", world],
    ["_dns.resolver.arpa", "UNKNOWN_64", world],
    ["_dns.resolver.arpa", "A", world],
    ["resolver.arpa", "SOA", world],
    ["foo.default.svc.cluster.local", "A", cluster],
    ["1-2-3-4.default.pod.cluster.local", "A", cluster],
    ["2001-db8--1.default.pod.cluster.local", "AAAA", cluster],
    ["1-2-3-4.default.pod.cluster.local", "TXT", cluster],
  ])(
    "over UDP an answer that fits to the byte is whole, and one byte less sets TC (RFC 2181 section 9): %s %s",
    (name, type, context) => {
      for (const edns of [false, true]) {
        const query = encodeQuery(name, type, edns);
        const whole = resolve(query, { ...context, transport: TCP })!.bytes;
        const over = (bytes: number) => resolve(query, { ...context, transport: udpTransport(bytes) })!;
        expect(over(whole.length).bytes).toEqual(whole);
        const cut = over(whole.length - 1);
        expect(decode(cut.bytes)).toMatchObject({ truncated: true, answer: [], authority: [] });
        expect(cut.freshness).toBe(0);
        expect(cut.bytes.length).toBeLessThan(whole.length);
      }
    },
  );

  it("additional records that do not fit are left out without TC", () => {
    const query = encodeQuery("_https._tcp.web.shop.svc.clusterset.local", "SRV");
    const { bytes } = resolve(query, { ...world, transport: TCP })!;
    const over = (most: number) => resolve(query, { ...world, transport: udpTransport(most) })!.bytes;
    expect(over(bytes.length)).toEqual(bytes);
    const whole = decode(bytes);
    const additional = whole.additional.filter((line) => !line.includes("AAAA"));
    expect(decode(over(bytes.length - 1))).toEqual({ ...whole, additional });
    expect(whole.additional.length).toBeGreaterThan(additional.length);
  });
});

describe("the longest answer", () => {
  const LONGEST = 65_535;
  /** An A record below a compressed name. */
  const RECORD = 16;
  const TCP = streamTransport("tcp", 30_000);

  const addresses = Array.from({ length: 4200 }, (_, index) => ({
    address: `10.3.${index >> 8}.${index & 255}`,
  }));
  const headless = (count: number) =>
    exporting("east", { headless: true, endpoints: endpoints(...addresses.slice(0, count)) });
  // Zones of 16 lengths leave 0 to 15 bytes of room after the last record.
  const zones = Array.from({ length: 16 }, (_, index) => `${"z".repeat(index + 1)}.test`);
  const crowded = compileWorld([headless(4200)], { zones });

  it("padding stops at the longest message, which is not a multiple of a block (RFC 8484 section 6)", () => {
    const padded = zones.flatMap((zone) => {
      const query = queryWith(`web.shop.svc.${zone}`, "A", { payload: 1232, codes: [12] });
      const { bytes } = resolve(query, { ...crowded, transport: HTTPS })!;
      const padding = optionsOf(bytes)![12];
      return padding === undefined ? [] : [{ length: bytes.length, padding: padding.length }];
    });
    expect(padded.map(({ length }) => length)).toEqual(padded.map(() => LONGEST));
    expect(padded.length).toBeGreaterThan(8);
    expect(padded.some(({ padding }) => padding === 0)).toBe(true);
    expect(padded.some(({ padding }) => padding > 4)).toBe(true);
  });

  it("has the Extended DNS Error of a stale answer (RFC 8914)", () => {
    for (const zone of zones) {
      const query = queryWith(`web.shop.svc.${zone}`, "A", { payload: 1232 });
      const { bytes } = resolve(query, { ...crowded, stale: true })!;
      expect(bytes.length).toBeLessThanOrEqual(LONGEST);
      expect(bytes.length).toBeGreaterThan(LONGEST - RECORD);
      expect(extendedErrors(bytes)).toEqual([3]);
    }
  });

  it("padding is zeros, whatever the answer before had there (RFC 7830 section 3)", () => {
    const [zone] = zones;
    resolve(queryWith(`web.shop.svc.${zone}`, "A", { payload: 1232 }), crowded);
    const { bytes } = resolve(queryWith(zone!, "SOA", { payload: 1232, codes: [12] }), crowded)!;
    const padding = optionsOf(bytes)![12]!;
    expect(padding.length).toBeGreaterThan(300);
    expect(padding.every((byte) => byte === 0)).toBe(true);
  });

  it.each([
    ["over TCP", TCP, [], 11],
    ["over TCP with the idle timeout (RFC 7828)", TCP, [11], 17],
    ["over HTTPS, which never has the idle timeout", HTTPS, [11], 11],
  ] as const)("it has as many addresses as fit beside the OPT record: %s", (_, transport, codes, opt) => {
    for (const zone of zones) {
      const query = queryWith(`web.shop.svc.${zone}`, "A", { payload: 1232, codes });
      const question = query.length - 11 - 4 * codes.length;
      const { bytes } = resolve(query, { ...crowded, transport })!;
      const fitting = Math.floor((LONGEST - question - opt) / RECORD);
      expect(bytes).toHaveLength(question + fitting * RECORD + opt);
      expect(decode(bytes).answer).toHaveLength(fitting);
    }
  });

  it("the additional addresses of a long SRV answer (RFC 2782) have owner names to which a compression pointer can point (RFC 1035 section 4.1.4)", () => {
    const zone = "z.test";
    const world = compileWorld([headless(600)], { zones: [zone] });
    const query = queryWith(`_http._tcp.web.shop.svc.${zone}`, "SRV", { payload: 1232 });
    const { answer, additional } = decode(resolve(query, { ...world, transport: TCP })!.bytes);
    const targets = answer.map((record) => record.split(" ").at(-1));
    const owners = additional.map((record) => record.split(" ")[0]);
    expect(owners).toEqual(targets.slice(0, owners.length));
    expect(owners.length).toBeGreaterThan(100);
    expect(owners.length).toBeLessThan(600);
  });

  it("an answer stays the same while thousands of others are written", () => {
    const query = queryWith("z.test", "SOA", { payload: 1232 });
    const answers = Array.from({ length: 3000 }, () => resolve(query, crowded)!.bytes);
    const hex = new Set(answers.map((bytes) => Buffer.from(bytes).toString("hex")));
    expect([...hex]).toHaveLength(1);
    expect(decode(answers[0]!).answer).toHaveLength(1);
  });
});
