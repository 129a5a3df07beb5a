import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readName, readRecord } from "../../src/dns/name.ts";
import { scrubAnswer } from "../../src/forward/scrub.ts";
import { readForwardable } from "../../src/forward/stub-zones.ts";
import {
  cacheKey,
  padQuery,
  readUpstreamAnswer,
  upstreamQuery,
  withoutAge,
} from "../../src/forward/upstream.ts";
import { optRecord } from "../dns/opt-record.ts";
import { rrsigRecord, soaRecord } from "./fake-forwarder.ts";
import { answerTo, decoded, optOf, patched, queryFor, relayed } from "./fake-upstreams.ts";

const sent = (message: Uint8Array) => upstreamQuery(readForwardable(message)!);
const key = (message: Uint8Array) => cacheKey(readForwardable(message)!);

/** A query in wire format whose name has these labels, of any bytes. */
function wireQuery(labels: readonly Uint8Array[], { type = 1, cd = false, doBit = false } = {}): Uint8Array {
  const name = labels.flatMap((label) => [label.length, ...label]);
  const opt = doBit ? [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0] : [];
  const header = [0, 0, 1, cd ? 0x10 : 0, 0, 1, 0, 0, 0, 0, 0, doBit ? 1 : 0];
  return Uint8Array.from([...header, ...name, 0, type >> 8, type & 255, 0, 1, ...opt]);
}

it("what an upstream is sent is the question with ID 0, RD, CD, DNSSEC OK, and an OPT record of ours", () => {
  const options = [
    { code: "CLIENT_SUBNET", family: 1, sourcePrefixLength: 24, scopePrefixLength: 0, ip: "198.51.100.0" },
    { code: 10, data: Buffer.from("cookie00") },
    { code: 65_001, data: Buffer.from("cluster-a") },
  ];
  const query = queryFor("wWw.Example.COM", {
    flags: 0x0130,
    additionals: [optRecord(options, { flag_do: true })],
  });
  expect(decoded(sent(query))).toMatchObject({
    id: 0,
    flags: 0x0110,
    answers: [],
    authorities: [],
    questions: [{ name: "www.example.com", type: "A", class: "IN" }],
    additionals: [{ udpPayloadSize: 1232, flag_do: true, ednsVersion: 0, options: [] }],
  });
});

describe("the key of an answer in the cache", () => {
  it("is the same for another ID and EDNS options, and not for another class", () => {
    const additionals = [optRecord([{ code: 10, data: Buffer.alloc(8) }])];
    const query = queryFor("www.example.com");
    expect(key(queryFor("www.example.com", { id: 9, additionals }))).toBe(key(query));
    expect(key(patched(query, -1, 255))).not.toBe(key(query));
  });

  it("is the same exactly where question, CD and DNSSEC OK are, but for case", () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 5 });
    const some = fc.constantFrom("a", "A", ".", "\0").map((text) => Uint8Array.of(text.charCodeAt(0)));
    const query = fc.tuple(
      fc.array(fc.oneof(label, some), { maxLength: 4 }),
      fc.record({ type: fc.constantFrom(1, 28, 256, 257), cd: fc.boolean(), doBit: fc.boolean() }),
    );
    const canonical = ([labels, bits]: [Uint8Array[], object]) =>
      JSON.stringify([
        labels.map((one) => Array.from(one, (byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte))),
        bits,
      ]);
    fc.assert(
      fc.property(query, query, (one, other) => {
        expect(key(wireQuery(...one)) === key(wireQuery(...other))).toBe(canonical(one) === canonical(other));
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(query, ([labels, bits]) => {
        const upper = labels.map((one) => one.map((byte) => (byte >= 97 && byte <= 122 ? byte - 32 : byte)));
        expect(key(wireQuery(upper, bits))).toBe(key(wireQuery(labels, bits)));
      }),
    );
  });
});

it.each(["a", `${"a".repeat(60)}.${"b".repeat(60)}.com`])(
  "a query over TLS is padded (RFC 8467): %s",
  (name) => {
    const query = sent(queryFor(name));
    const padded = padQuery(query);
    expect(padded.length % 128).toBe(0);
    expect(padded.length).toBeLessThan(query.length + 4 + 128);
    expect(decoded(padded).questions).toMatchObject([{ name }]);
    expect(optOf(padded)?.options).toMatchObject([{ code: 12 }]);
  },
);

const query = queryFor("web.shop.fed.svc.federation", { id: 0 });
const whole = answerTo(query, {
  answers: [{ type: "CNAME", name: "web.shop.fed.svc.federation", ttl: 9, data: "lb.example.com" }],
  authorities: [{ type: "NS", name: "federation", ttl: 0x80000000, data: "ns.federation" }],
  additionals: [{ type: "A", name: "ns.federation", ttl: 1, data: "192.0.2.1" }],
});

/** A TTL with the highest bit set counts as 0 (RFC 2181 section 8). */
function withValidTtls(bytes: Uint8Array): Uint8Array {
  const valid = bytes.slice();
  let at = readName(bytes, 12) + 4;
  for (let record = readRecord(bytes, at); record !== undefined; record = readRecord(bytes, at)) {
    if (record.ttl > 0x7fffffff) valid.fill(0, record.dataStart - 6, record.dataStart - 2);
    at = record.end;
  }
  return valid;
}

it("damaged answers are rejected or passed on whole, and nothing throws", () => {
  const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(damage, fc.nat(whole.length), (changes, size) => {
      const bytes = whole.slice(0, size);
      for (const [at, byte] of changes) if (at < size) bytes[at] = byte;
      const upstream = readUpstreamAnswer(query, bytes);
      if (upstream === undefined) return;
      const { bytes: given, freshness } = relayed(query, upstream);
      expect(given.length).toBeLessThanOrEqual(bytes.length);
      expect(given.subarray(12)).toEqual(withValidTtls(bytes).subarray(12, given.length));
      expect(freshness).toBeGreaterThanOrEqual(0);
    }),
  );
});

it("records after an OPT record are removed: they cannot be moved (RFC 1035 section 4.1.4)", () => {
  const bytes = answerTo(query, {
    additionals: [
      { type: "A", name: "a.federation", ttl: 1, data: "192.0.2.1" },
      optRecord(),
      { type: "A", name: "b.federation", ttl: 1, data: "192.0.2.2" },
    ],
  });
  const { bytes: given } = relayed(query, readUpstreamAnswer(query, bytes)!);
  expect(decoded(given).additionals).toMatchObject([{ name: "a.federation", data: "192.0.2.1" }]);
});

it("an answer with an OPT record twice or in another section is malformed (RFC 6891 section 6.1.1)", () => {
  for (const wrong of [{ additionals: [optRecord(), optRecord()] }, { answers: [optRecord()] }])
    expect(readUpstreamAnswer(query, answerTo(query, wrong))).toBeUndefined();
});

const name = "www.example.com";
const asked = queryFor(name, { id: 0 });

const NO_RULES = { isOurs: () => false, isPrivate: () => false, isTrusted: () => false };

describe("records of an answer", () => {
  const cname = (from: string, to: string) => ({ type: "CNAME" as const, name: from, ttl: 60, data: to });
  const address = (from: string, data: string) => ({ type: "A" as const, name: from, ttl: 60, data });
  const [first, second, one, two] = [
    cname(name, "a.example.net"),
    cname("a.example.net", "b.example.org"),
    address("b.example.org", "192.0.2.1"),
    address("b.example.org", "192.0.2.2"),
  ];
  const dname = { type: "DNAME" as const, name: "example.com", ttl: 60, data: "example.net" };
  const signature = rrsigRecord("example.com", "DNAME");
  const soa = soaRecord(60, 9, "com");

  it.each([
    ["addresses before the CNAMEs", [one, two, second, first], [first, second, one, two]],
    ["the chain between the addresses", [two, first, one, second], [first, second, two, one]],
    ["the right order", [first, second, two, one]],
    ["addresses alone", [address(name, "192.0.2.2"), address(name, "192.0.2.1")]],
    [
      "a DNAME and its signature behind the CNAME that was made of it",
      [cname(name, "www.example.net"), address("www.example.net", "192.0.2.3"), dname, signature],
      [dname, signature, cname(name, "www.example.net"), address("www.example.net", "192.0.2.3")],
    ],
  ])("with %s come chain first, in order (RFC 1034 section 4.3.1)", (_, answers, expected = answers) => {
    const given = readUpstreamAnswer(asked, answerTo(asked, { answers, authorities: [soa] }))!;
    const { answers: found, authorities } = decoded(scrubAnswer(given, NO_RULES)!.answer.bytes);
    const told = (records: readonly object[]) =>
      records.map((record) => {
        const { name, type, data } = record as { name: string; type: string; data: unknown };
        return { name, type, data };
      });
    expect(told(found ?? [])).toEqual(told(expected));
    expect(told(authorities ?? [])).toEqual(told([soa]));
  });

  it("of any chain, also to parents and children of its names, come in its order", () => {
    const names = [name, "example.com", "com", "a.www.example.com", "b.example.org", "example.org"];
    const chains = fc.shuffledSubarray(names.slice(1), { minLength: 1 }).chain((targets) => {
      const chain = [name, ...targets];
      const cnames = targets.map((target, index) => cname(chain[index]!, target));
      const answers = [...cnames, address(chain.at(-1)!, "192.0.2.1")];
      const shuffled = fc.shuffledSubarray(answers, { minLength: answers.length });
      return fc.tuple(fc.constant(chain), shuffled);
    });
    fc.assert(
      fc.property(chains, ([chain, answers]) => {
        const given = readUpstreamAnswer(asked, answerTo(asked, { answers }))!;
        const found = decoded(scrubAnswer(given, NO_RULES)!.answer.bytes).answers ?? [];
        expect(found.map((record) => record.name)).toEqual(chain);
      }),
    );
  });
});

it.each([
  ["BADVERS", 16],
  ["BADCOOKIE", 23],
])("%s is about the hop: SERVFAIL, Extended DNS Error 23 (RFC 8914 section 4.24)", (_, code) => {
  const bytes = answerTo(query, {
    rcode: code & 15,
    answers: [{ type: "A", name: "web.shop.fed.svc.federation", ttl: 9, data: "192.0.2.1" }],
    additionals: [{ ...optRecord(), extendedRcode: code >> 4 }],
  });
  expect(readUpstreamAnswer(query, bytes)).toMatchObject({ rcode: 2, answers: 0, extendedError: 23 });
});

describe("an answer that an HTTP cache held (RFC 8484 section 5.1)", () => {
  const ttls = (bytes: Uint8Array) => {
    const { answers = [], authorities = [] } = decoded(bytes);
    return [...answers, ...authorities].map((record) => (record as { ttl: number }).ttl);
  };
  const positive = () =>
    answerTo(asked, {
      answers: [
        { type: "A", name, ttl: 60, data: "192.0.2.1" },
        { type: "A", name, ttl: 30, data: "192.0.2.2" },
      ],
    });

  it.each([
    ["20", [40, 10]],
    ["4000000000", [0, 0]],
    ["0", [60, 30]],
    [null, [60, 30]],
    ["-5", [60, 30]],
  ])("with Age %s has TTLs that count from now", (age, expected) => {
    expect(ttls(withoutAge(positive(), age))).toEqual(expected);
  });

  it("has a negative TTL that counts from now, where the SOA's TTL is longer (RFC 2308 section 5)", () => {
    const denial = answerTo(asked, { rcode: 3, authorities: [soaRecord(3600, 60)] });
    const aged = readUpstreamAnswer(asked, withoutAge(denial, "50"))!;
    expect(relayed(asked, aged).freshness).toBe(10);
  });

  it("is left alone where it is malformed", () => {
    const cut = positive().subarray(0, 40);
    expect(withoutAge(cut.slice(), "20")).toHaveLength(40);
    expect(withoutAge(new Uint8Array(3), "20")).toHaveLength(3);
  });
});
