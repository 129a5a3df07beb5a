import fc from "fast-check";
import { expect, it } from "vitest";
import { readUpstreamAnswer, relayAnswer } from "../../src/forward/upstream.ts";
import { readQuery } from "../../src/resolve/query.ts";
import { answerTo, decoded, queryFor } from "./fake-upstreams.ts";

const query = queryFor("web.shop.fed.svc.federation", { id: 0 });
const whole = answerTo(query, {
  answers: [{ type: "CNAME", name: "web.shop.fed.svc.federation", ttl: 9, data: "lb.example.com" }],
  authorities: [{ type: "NS", name: "federation", ttl: 0x80000000, data: "ns.federation" }],
  additionals: [{ type: "A", name: "ns.federation", ttl: 1, data: "192.0.2.1" }],
});

it("damaged answers are rejected or passed on whole, and nothing throws", () => {
  const read = readQuery(query);
  if ("code" in read) throw new Error("the query is malformed");
  const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(damage, fc.nat(whole.length), (changes, size) => {
      const bytes = whole.slice(0, size);
      for (const [at, byte] of changes) if (at < size) bytes[at] = byte;
      const upstream = readUpstreamAnswer(query, bytes);
      if (upstream === undefined) return;
      const { bytes: relayed, freshness } = relayAnswer(query, read, upstream);
      expect(relayed.length).toBeLessThanOrEqual(bytes.length);
      expect(relayed.subarray(12)).toEqual(bytes.subarray(12, relayed.length));
      expect(freshness).toBeGreaterThanOrEqual(0);
    }),
  );
});

it("records after an OPT record are removed: they cannot be moved (RFC 1035 section 4.1.4)", () => {
  const read = readQuery(query);
  if ("code" in read) throw new Error("the query is malformed");
  const bytes = answerTo(query, {
    additionals: [
      { type: "A", name: "a.federation", ttl: 1, data: "192.0.2.1" },
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: 1232,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
      { type: "A", name: "b.federation", ttl: 1, data: "192.0.2.2" },
    ],
  });
  const { bytes: relayed } = relayAnswer(query, read, readUpstreamAnswer(query, bytes)!);
  expect(decoded(relayed).additionals).toMatchObject([{ name: "a.federation", data: "192.0.2.1" }]);
});

it("a TTL with the highest bit set counts as 0 (RFC 2181 section 8)", () => {
  const name = "web.shop.fed.svc.federation";
  const bytes = answerTo(query, { answers: [{ type: "A", name, ttl: 0x80000001, data: "192.0.2.1" }] });
  expect(readUpstreamAnswer(query, bytes)?.freshness).toBe(0);
});
