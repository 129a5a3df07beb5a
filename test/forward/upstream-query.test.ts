import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readForwardable } from "../../src/forward/stub-zones.ts";
import { cacheKey, padQuery, upstreamQuery } from "../../src/forward/upstream.ts";
import { optRecord } from "../dns/opt-record.ts";
import { decoded, optOf, patched, queryFor } from "./fake-upstreams.ts";

const sent = (message: Uint8Array) => upstreamQuery(readForwardable(message)!);
const key = (message: Uint8Array) => cacheKey(readForwardable(message)!);

/** A query in wire format whose name has these labels, of any bytes. */
function wireQuery(labels: readonly Uint8Array[], { type = 1, cd = false, doBit = false } = {}): Uint8Array {
  const name = labels.flatMap((label) => [label.length, ...label]);
  const opt = doBit ? [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0] : [];
  const header = [0, 0, 1, cd ? 0x10 : 0, 0, 1, 0, 0, 0, 0, 0, doBit ? 1 : 0];
  return Uint8Array.from([...header, ...name, 0, type >> 8, type & 255, 0, 1, ...opt]);
}

describe("what an upstream is sent", () => {
  it("is the question with ID 0, RD, CD, DNSSEC OK, and an OPT record of ours", () => {
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
});

describe("the key of an answer in the cache", () => {
  it.each([
    [
      "another ID, EDNS and its options",
      queryFor("www.example.com", { id: 9, additionals: [optRecord([{ code: 10, data: Buffer.alloc(8) }])] }),
      true,
    ],
    ["another class", patched(queryFor("www.example.com"), -1, 255), false],
  ])("is the same for %s: %3$s", (_, message, expected) => {
    expect(key(message) === key(queryFor("www.example.com"))).toBe(expected);
  });

  it("is the same exactly where question, CD and DNSSEC OK are, but for case", () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 5 });
    const query = fc.tuple(
      fc.array(
        fc.oneof(
          label,
          fc.constantFrom("a", "A", ".", "\0").map((text) => new Uint8Array(Buffer.from(text))),
        ),
        { maxLength: 4 },
      ),
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

describe("a query over TLS", () => {
  it.each(["a", "www.example.com", `${"a".repeat(60)}.${"b".repeat(60)}.com`])(
    "is padded to a multiple of 128 bytes (RFC 8467 section 4.1): %s",
    (name) => {
      const query = sent(queryFor(name));
      const padded = padQuery(query);
      expect(padded.length % 128).toBe(0);
      expect(padded.length).toBeLessThan(query.length + 4 + 128);
      expect(decoded(padded).questions).toMatchObject([{ name }]);
      expect(optOf(padded)?.options).toMatchObject([{ code: 12 }]);
    },
  );
});
