import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readName, readRecord } from "../../src/dns/name.ts";
import { inChainOrder } from "../../src/forward/records.ts";
import { readUpstreamAnswer, withoutAge } from "../../src/forward/upstream.ts";
import { optRecord } from "../dns/opt-record.ts";
import { soaRecord } from "./fake-forwarder.ts";
import { answerTo, decoded, queryFor, relayed } from "./fake-upstreams.ts";

const query = queryFor("web.shop.fed.svc.federation", { id: 0 });
const whole = answerTo(query, {
  answers: [{ type: "CNAME", name: "web.shop.fed.svc.federation", ttl: 9, data: "lb.example.com" }],
  authorities: [{ type: "NS", name: "federation", ttl: 0x80000000, data: "ns.federation" }],
  additionals: [{ type: "A", name: "ns.federation", ttl: 1, data: "192.0.2.1" }],
});

/**
 * A TTL with the highest bit set counts as 0 (RFC 2181 section 8); a negative one is at most the SOA's
 * MINIMUM.
 */
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

describe("records of an answer", () => {
  const name = "www.example.com";
  const asked = queryFor(name, { id: 0 });
  const cname = (from: string, to: string) => ({ type: "CNAME" as const, name: from, ttl: 60, data: to });
  const address = (from: string, data: string) => ({ type: "A" as const, name: from, ttl: 60, data });
  const [first, second, one, two] = [
    cname(name, "a.example.net"),
    cname("a.example.net", "b.example.org"),
    address("b.example.org", "192.0.2.1"),
    address("b.example.org", "192.0.2.2"),
  ];
  const other = address("other.example", "192.0.2.9");
  const dname = { type: "DNAME" as const, name: "example.com", ttl: 60, data: "example.net" };
  const signature = {
    type: "RRSIG" as const,
    name: "example.com",
    ttl: 60,
    data: {
      typeCovered: "DNAME",
      algorithm: 13,
      labels: 2,
      originalTTL: 60,
      expiration: 2,
      inception: 1,
      keyTag: 1,
      signersName: "example.com",
      signature: Buffer.from("signature"),
    } as const,
  };
  const soa = soaRecord(60, 9, "example.org");

  it.each([
    ["addresses before the CNAMEs", [one, two, second, first], [first, second, one, two]],
    ["CNAMEs against the chain", [second, first, one], [first, second, one]],
    ["the chain between the addresses", [two, first, one, second], [first, second, two, one]],
    ["records of other names first", [other, second, one, first], [first, second, one, other]],
    ["the right order", [first, second, two, one], [first, second, two, one]],
    ["a loop", [cname("a.example.net", name), first], [first, cname("a.example.net", name)]],
    ["addresses alone", [two, one], [two, one]],
    [
      "addresses at the zone's apex",
      [cname(name, "example.com"), address("example.com", "192.0.2.3")],
      [cname(name, "example.com"), address("example.com", "192.0.2.3")],
    ],
    [
      "targets that are parents of the names before",
      [cname("example.com", "com"), address("com", "192.0.2.3"), cname(name, "example.com")],
      [cname(name, "example.com"), cname("example.com", "com"), address("com", "192.0.2.3")],
    ],
    [
      "a DNAME and its signature behind the CNAME that was made of it",
      [cname(name, "www.example.net"), address("www.example.net", "192.0.2.3"), dname, signature],
      [dname, signature, cname(name, "www.example.net"), address("www.example.net", "192.0.2.3")],
    ],
  ])("with %s come chain first, in order (RFC 1034 section 4.3.1)", (_, answers, expected) => {
    const given = readUpstreamAnswer(asked, answerTo(asked, { answers, authorities: [soa] }))!;
    const { answers: found, authorities } = decoded(inChainOrder(given).bytes);
    const told = (records: readonly object[]) =>
      records.map((record) => {
        const { name, type, data } = record as { name: string; type: string; data: unknown };
        return { name, type, data };
      });
    expect(told(found ?? [])).toEqual(told(expected));
    expect(told(authorities ?? [])).toEqual(told([soa]));
  });

  it("of any order are the same records, and a second time change nothing", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([first, second, one, two, other], { minLength: 2 }), (answers) => {
        const given = readUpstreamAnswer(asked, answerTo(asked, { answers }))!;
        const ordered = inChainOrder(given);
        const found = decoded(ordered.bytes).answers ?? [];
        const key = (record: object) => JSON.stringify(record);
        expect(found.map(key).sort()).toEqual((decoded(given.bytes).answers ?? []).map(key).sort());
        expect(inChainOrder(ordered)).toBe(ordered);
      }),
    );
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
        const found = decoded(inChainOrder(given).bytes).answers ?? [];
        expect(found.map((record) => record.name)).toEqual(chain);
      }),
    );
  });
});

describe("response codes of EDNS", () => {
  it.each([
    ["BADVERS", 16],
    ["BADCOOKIE", 23],
  ])(
    "such as %s are about the hop: the client gets SERVFAIL with Extended DNS Error 23 (RFC 6891 section 6.1.3, RFC 8914 section 4.24)",
    (_, code) => {
      const bytes = answerTo(query, {
        rcode: code & 15,
        answers: [{ type: "A", name: "web.shop.fed.svc.federation", ttl: 9, data: "192.0.2.1" }],
        additionals: [{ ...optRecord(), extendedRcode: code >> 4 }],
      });
      expect(readUpstreamAnswer(query, bytes)).toMatchObject({
        rcode: 2,
        answers: 0,
        extendedError: 23,
      });
    },
  );
});

describe("an answer that an HTTP cache held (RFC 8484 section 5.1)", () => {
  const name = "www.example.com";
  const asked = queryFor(name, { id: 0 });
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
    ["60", [0, 0]],
    ["4000000000", [0, 0]],
    ["0", [60, 30]],
    [null, [60, 30]],
    ["-5", [60, 30]],
    ["soon", [60, 30]],
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
