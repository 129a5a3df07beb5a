import dnsPacket from "dns-packet";
import { describe, expect, it } from "vitest";
import { HTTPS, streamTransport, udpTransport } from "../../src/resolve/message-writer.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld, echoedName, encodeQuery, leasesUntil } from "./ask.ts";
import { twoClusters } from "./world.ts";

const world = compileWorld(twoClusters());
const NAME = "web.shop.svc.clusterset.local";

/** Rcode, section counts and header flags of an answer. */
function header(bytes: Uint8Array) {
  const word = (at: number) => (bytes[at]! << 8) | bytes[at + 1]!;
  return { id: word(0), flags: word(2), rcode: word(2) & 15, counts: [word(4), word(6), word(8), word(10)] };
}

const answered = (query: Uint8Array) => resolve(query, world)!.bytes;

/** An OPT record: version, flags, options. */
function opt(version = 0, flags = 0, options: readonly number[] = []): number[] {
  const head = [0, 0, 41, 16, 0, 0, version, flags >> 8, flags & 255];
  return [...head, options.length >> 8, options.length & 255, ...options];
}

function withOpt(...records: number[][]): Uint8Array {
  const query = encodeQuery(NAME, "A", false);
  query[11] = records.length;
  return Uint8Array.from([...query, ...records.flat()]);
}
describe("malformed queries get FORMERR (RFC 1035 section 4.1.1)", () => {
  const PADDED = [0, 12, 0, 0];
  it.each([
    ["FORMERR", 1, Uint8Array.from([...withOpt(opt(0, 0x8000, PADDED)), 0])],
    ["NOTIMP", 4, Uint8Array.from(withOpt(opt(0, 0x8000, PADDED)), (byte, at) => (at === 2 ? 0x28 : byte))],
    ["BADVERS", 0, withOpt(opt(1, 0x8000, PADDED))],
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
});

describe("unsupported operations, types and classes", () => {
  it.each(["AXFR", "IXFR"])("%s is REFUSED (RFC 5936)", (type) => {
    const { rcode, answer } = ask(world, "clusterset.local", type);
    expect({ rcode, answer }).toEqual({ rcode: "REFUSED", answer: [] });
  });
  it.each([
    "www.example.com",
    "xlocal",
    "xclusterset.local",
    "clusterset.local.example",
    "8.8.8.8.in-addr.arpa",
  ])("%s is out of zone", (name) => {
    expect(ask(world, name, "A")).toMatchObject({ rcode: "REFUSED", authoritative: false, authority: [] });
    expect(ask({ ...world, outside: "nxdomain" }, name, "A")).toMatchObject({
      rcode: "NXDOMAIN",
      authoritative: false,
    });
  });

  it("a label that contains the zone's bytes is not in the zone", () => {
    // One label of 18 bytes that ends as `\x0aclusterset` does, then `local`.
    const bytes = [...Buffer.from("aaaaaaa"), 10, ...Buffer.from("clusterset")];
    const [head, end] = [
      encodeQuery(".", "A", false).subarray(0, 12),
      Buffer.from("\x05local\0\0\x01\0\x01"),
    ];
    const query = Uint8Array.of(...head, bytes.length, ...bytes, ...end);
    expect(header(answered(query)).rcode).toBe(5);
  });
});

describe("EDNS", () => {
  it("pads the answers to padded queries, and no others, to 468 bytes (RFC 8467 section 4.1)", () => {
    const padded = answered(withOpt(opt(0, 0, [0, 12, 0, 0])));
    expect(padded.length % 468).toBe(0);
    expect(dnsPacket.decode(Buffer.from(padded)).answers).toHaveLength(2);
    expect(answered(withOpt(opt())).length).toBeLessThan(100);
  });

  it.each([
    ["not authoritative", encodeQuery("example.com", "A"), 20],
    ["no transfers", encodeQuery("clusterset.local", "AXFR"), 21],
  ])("has the Extended DNS Error for: %s (RFC 8914)", (_, query, code) => {
    const bytes = answered(query);
    expect([...bytes.subarray(-6)]).toEqual([0, 15, 0, 2, 0, code]);
  });
});

describe("the header", () => {
  it("echoes ID, RD and CD, sets AA, never RA (RFC 1035 section 4.1.1, RFC 4035 section 3.2.2)", () => {
    const query = encodeQuery(NAME, "A", false, 0xcafe);
    query[2] = 1;
    query[3] = 0x30;
    expect(header(answered(query))).toMatchObject({ id: 0xcafe, flags: 0x8510 });
    query[2] = 0;
    query[3] = 0;
    expect(header(answered(query)).flags).toBe(0x8400);
  });

  it("echoes the case of the question and ignores it in the look-up (RFC 4343)", () => {
    const bytes = answered(encodeQuery("WeB.sHoP.SVC.clusterSET.LOCAL", "A"));
    expect(echoedName(bytes)).toBe("WeB.sHoP.SVC.clusterSET.LOCAL.");
    expect(header(bytes).counts).toEqual([1, 2, 0, 1]);
  });
});

describe("large answers", () => {
  const many = (count: number) =>
    compileWorld([
      snapshot("east", {
        exports: {
          "shop/big": exported({
            headless: true,
            endpoints: endpoints(
              ...Array.from({ length: count }, (_, n) => ({ address: `10.3.${n >> 8}.${n & 255}` })),
            ),
          }),
        },
      }),
    ]);
  const big = "big.shop.svc.clusterset.local";

  it("has as many addresses as curl reads for clients without EDNS, a different part each time", () => {
    const context = many(400);
    const bytes = resolve(encodeQuery(big, "A", false), context)!.bytes;
    expect(bytes.length).toBeLessThan(3000);
    expect(bytes.length).toBeGreaterThan(2980);
    const seen = new Set(
      [0, 100, 200, 300].flatMap((rotation) => ask({ ...context, rotation }, big, "A", false).answer),
    );
    expect(seen.size).toBe(400);
    expect(ask(context, big, "A", false).truncated).toBe(false);
  });
});

describe("time", () => {
  const context = compileWorld(twoClusters());
  const expiring = (clusterId: string, at: number) => ({
    ...context,
    leases: leasesUntil((held) => (held === clusterId ? at : Number.POSITIVE_INFINITY)),
  });

  it("bounds TTL and freshness only by the leases of the clusters on which an answer depends", () => {
    const soon = expiring("west", 2900);
    expect(ask(soon, "db-0.west.db.shop.svc.clusterset.local", "A").answer).toEqual([
      "db-0.west.db.shop.svc.clusterset.local 2 A 10.2.0.1",
    ]);
    expect(resolve(encodeQuery("db-0.west.db.shop.svc.clusterset.local", "A"), soon)!.freshness).toBe(2);
    expect(ask(soon, "db.shop.svc.clusterset.local", "A").answer[0]).toContain(" 2 A ");
    expect(ask(soon, "db-0.east.db.shop.svc.clusterset.local", "A").answer[0]).toContain(" 5 A ");
    expect(ask(soon, "2.0.2.10.in-addr.arpa", "PTR").answer[0]).toContain(" 2 PTR ");
    expect(ask(expiring("west", -5000), "db-0.west.db.shop.svc.clusterset.local", "A").answer[0]).toContain(
      " 0 A ",
    );
    expect(ask(soon, "dns-version.clusterset.local", "TXT").answer[0]).toContain(" 28800 TXT ");
  });
});
