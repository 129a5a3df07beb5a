import { expect, it } from "vitest";
import { HTTPS, streamTransport, udpTransport } from "../../src/resolve/message-writer.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { twoClusters } from "./world.ts";

const world = compileWorld(twoClusters());
const NAME = "web.shop.svc.clusterset.local";

function header(bytes: Uint8Array) {
  const word = (at: number) => (bytes[at]! << 8) | bytes[at + 1]!;
  return { id: word(0), flags: word(2), rcode: word(2) & 15 };
}

const answered = (query: Uint8Array) => resolve(query, world)!.bytes;

/** A query with DO and padding. */
function paddedQuery(version: number): Uint8Array {
  const opt = [0, 0, 41, 16, 0, 0, version, 0x80, 0, 0, 4, 0, 12, 0, 0];
  return Uint8Array.from([...encodeQuery(NAME, "A", false).with(11, 1), ...opt]);
}

it.each([
  ["FORMERR", 1, Uint8Array.from([...paddedQuery(0), 0])],
  ["NOTIMP", 4, paddedQuery(0).with(2, 0x28)],
  ["BADVERS", 0, paddedQuery(1)],
])(
  "%s is padded if the query is, only on encrypted transports, and has the DO bit (RFC 8467 section 4.1)",
  (_, rcode, query) => {
    for (const transport of [HTTPS, streamTransport("dot", 1000)]) {
      const { bytes } = resolve(query, { ...world, transport })!;
      expect(header(bytes).rcode).toBe(rcode);
      expect(bytes).toHaveLength(468);
    }
    for (const transport of [udpTransport(1232), streamTransport("tcp", 1000)]) {
      const { bytes } = resolve(query, { ...world, transport })!;
      expect(bytes.length).toBeLessThanOrEqual(query.length);
      expect(bytes.at(-4)).toBe(0x80);
    }
    expect(notReady(query)!.bytes).toHaveLength(468);
  },
);

it("a label that contains the zone's bytes is not in the zone", () => {
  // One label of 18 bytes that ends as `\x0aclusterset` does, then `local`.
  const bytes = [...Buffer.from("aaaaaaa"), 10, ...Buffer.from("clusterset")];
  const [head, end] = [encodeQuery(".", "A", false).subarray(0, 12), Buffer.from("\x05local\0\0\x01\0\x01")];
  const query = Uint8Array.of(...head, bytes.length, ...bytes, ...end);
  expect(header(answered(query)).rcode).toBe(5);
});

it("the header echoes ID, RD and CD, sets AA, never RA (RFC 1035 section 4.1.1, RFC 4035 section 3.2.2)", () => {
  const query = encodeQuery(NAME, "A", false, 0xcafe).with(2, 1).with(3, 0x30);
  expect(header(answered(query))).toEqual({ id: 0xcafe, flags: 0x8510, rcode: 0 });
  expect(header(answered(query.with(2, 0).with(3, 0))).flags).toBe(0x8400);
});

it("a client without EDNS gets as many addresses as curl reads, a different part each time", () => {
  const name = "big.shop.svc.clusterset.local";
  const members = Array.from({ length: 400 }, (_, n) => ({ address: `10.3.${n >> 8}.${n & 255}` }));
  const big = exported({ headless: true, endpoints: endpoints(...members) });
  const context = compileWorld([snapshot("east", { exports: { "shop/big": big } })]);
  const { length } = resolve(encodeQuery(name, "A", false), context)!.bytes;
  expect(length).toBeLessThan(3000);
  expect(length).toBeGreaterThan(2980);
  const answers = [0, 100, 200, 300].map((rotation) => ask({ ...context, rotation }, name, "A", false));
  expect(new Set(answers.flatMap(({ answer }) => answer)).size).toBe(400);
  expect(answers.some(({ truncated }) => truncated)).toBe(false);
});

it("TTL and freshness are bounded only by the leases of the clusters on which an answer depends", () => {
  const expiring = (clusterId: string, at: number) => ({
    ...world,
    leases: leasesUntil((held) => (held === clusterId ? at : Number.POSITIVE_INFINITY)),
  });
  const db = "db.shop.svc.clusterset.local";
  const soon = expiring("west", 2900);
  expect(resolve(encodeQuery(`db-0.west.${db}`, "A"), soon)!.freshness).toBe(2);
  const ttlOf = (context: typeof soon, name: string, type = "A") =>
    Number(ask(context, name, type).answer[0]!.split(" ")[1]);
  expect(ttlOf(soon, `db-0.west.${db}`)).toBe(2);
  expect(ttlOf(soon, db)).toBe(2);
  expect(ttlOf(soon, `db-0.east.${db}`)).toBe(5);
  expect(ttlOf(soon, "2.0.2.10.in-addr.arpa", "PTR")).toBe(2);
  expect(ttlOf(expiring("west", -5000), `db-0.west.${db}`)).toBe(0);
  expect(ttlOf(soon, "dns-version.clusterset.local", "TXT")).toBe(28800);
});
