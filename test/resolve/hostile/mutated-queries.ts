import fc from "fast-check";
import { BIG, DB, DESIGNATED, WEB, ZONE } from "../../e2e/clients/listening-gateway.ts";

const LONG = `${"a".repeat(63)}.`.repeat(3);

/** Names that are there, nearly there, and not there; those of objects in the language, too. */
const NAMES = [
  WEB,
  DB,
  BIG,
  ZONE,
  DESIGNATED,
  `db-0.cluster-a.${DB}`,
  `_https._tcp.${WEB}`,
  "web.shop.svc.clusterset.local",
  "WEB.Shop.SVC.ClusterSet.Local",
  "clusterset.local",
  "svc.clusterset.local",
  "dns-version.clusterset.local",
  "*.shop.svc.clusterset.local",
  "x.web.shop.svc.clusterset.local",
  "__proto__.svc.clusterset.local",
  "constructor.shop.svc.clusterset.local",
  "tostring.clusterset.local",
  "1.0.1.10.in-addr.arpa",
  "10.1.96.10.in-addr.arpa",
  `${"0.".repeat(30)}d.f.ip6.arpa`,
  "arpa",
  "",
  "_dns.resolver.arpa",
  "resolver.arpa",
  `_dns.${DESIGNATED}`,
  "example.com",
  "local",
  "xclusterset.local",
  `${LONG}clusterset.local`,
  `${LONG}${"b".repeat(42)}.clusterset.local`,
  `${LONG}${"b".repeat(61)}`,
  "a.".repeat(119) + "clusterset.local",
];
/** A, NS, CNAME, SOA, PTR, TXT, AAAA, SRV, OPT, RRSIG, SVCB, HTTPS, IXFR, AXFR, ANY, and unknown types. */
const TYPES = [1, 1, 28, 28, 33, 2, 5, 6, 12, 16, 41, 46, 64, 65, 251, 252, 255, 0, 257, 65_280, 65_535];
const CLASSES = [1, 1, 1, 1, 1, 1, 255, 3, 254, 0, 65_535];
/** NSID, client subnet, cookie, keepalive, padding, chain, error, and the one that names a source cluster. */
const OPTIONS = [3, 8, 10, 11, 12, 13, 15, 65_001, 65_535];
const COUNTS = [0, 1, 2, 16, 17, 255, 256, 4096, 65_535];

/** The contents of a query before it is mutated. */
const wellFormed = fc
  .tuple(
    fc.nat({ max: 0xffff }),
    fc.constantFrom(...NAMES),
    fc.constantFrom(...TYPES),
    fc.constantFrom(...CLASSES),
    fc.nat({ max: 0xffff }),
  )
  .map(([id, name, type, queryClass, edns]) => encode(id, name, type, queryClass, edns));

/** Where, in 65,536ths of the message, and with which value: what it does is the first one's matter. */
const mutation = fc.tuple(fc.nat({ max: 15 }), fc.nat({ max: 0xffff }), fc.nat({ max: 0xffff }));

/** DNS queries, most of them damaged in up to three places. Shrinks to what is well-formed. */
export const mutatedQueries: fc.Arbitrary<Buffer> = fc
  .tuple(wellFormed, fc.array(mutation, { maxLength: 3 }), fc.nat({ max: 0xffff }))
  .map(([query, mutations, salt]) =>
    mutations.reduce((bytes, [kind, place, value]) => mutate(bytes, kind, place, value, salt), query),
  );

function mutate(bytes: Buffer, kind: number, place: number, value: number, salt: number): Buffer {
  const at = Math.floor((place * bytes.length) / 0x10000);
  const length = (value & 0xff) + 1;
  const changed = Buffer.from(bytes);
  const set16 = (offset: number, word: number) => {
    if (offset + 2 <= changed.length) changed.writeUInt16BE(word, offset);
    return changed;
  };
  switch (kind) {
    case 0:
    case 1:
      if (at < changed.length) changed[at]! ^= 1 << (value & 7);
      return changed;
    case 2:
    case 3:
      if (at < changed.length) changed[at] = value;
      return changed;
    // A count of the header, or its flags.
    case 4:
      return set16(4 + 2 * (place & 3), COUNTS[value % COUNTS.length]!);
    case 5:
      return set16(2, value & 0x7fff);
    case 6:
      return bytes.subarray(0, at);
    case 7:
      return Buffer.concat([bytes, Buffer.alloc(length, place)]);
    case 8:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.max(0, at - length))]);
    case 9:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + (length & 15))]);
    case 10:
      return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(length & 31, salt), bytes.subarray(at)]);
    // Compression pointers: to themselves, onwards, to the header, to nowhere.
    case 11:
      return set16(Math.max(12, at), 0xc000 | (value % (bytes.length + 64)));
    case 12:
      return set16(at, COUNTS[value % COUNTS.length]!);
    case 13:
      return Buffer.concat([bytes.subarray(0, at), encode(salt, NAMES[value % NAMES.length]!, 1, 1, value)]);
    // One more record, or option, than declared.
    case 14:
      return Buffer.concat([bytes, opt(value, salt)]);
    default:
      return Buffer.concat([bytes, Buffer.of(0, 0, 1, 0, 1), Buffer.alloc(value & 1023, salt)]);
  }
}

/** A query in wire format, with an OPT record for three values of `edns` in four. */
function encode(id: number, name: string, type: number, queryClass: number, edns: number): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  const question = Buffer.concat([
    ...labels.map((label) => Buffer.from(String.fromCharCode(label.length) + label, "latin1")),
    Buffer.of(0, type >> 8, type & 255, queryClass >> 8, queryClass & 255),
  ]);
  const hasOpt = (edns & 3) !== 0;
  const header = Buffer.of(id >> 8, id & 255, edns & 1, edns & 0x10, 0, 1, 0, 0, 0, 0, 0, hasOpt ? 1 : 0);
  return Buffer.concat([header, question, ...(hasOpt ? [opt(edns, id)] : [])]);
}

function opt(value: number, salt: number): Buffer {
  const size = [0, 512, 1232, 4096, 65_535][value % 5]!;
  const code = OPTIONS[salt % OPTIONS.length]!;
  const length = (value & 0x300) === 0x300 ? value & 255 : value & 15;
  const options =
    (value & 4) === 0 ? [] : [code >> 8, code & 255, 0, length, ...Buffer.alloc(length, salt & 255)];
  const version = (value & 0xf00) === 0xf00 ? 1 : 0;
  const dnssecOk = (value & 8) === 0 ? 0 : 0x80;
  const fixed = [0, 0, 41, size >> 8, size & 255, 0, version, dnssecOk, 0];
  return Buffer.from([...fixed, options.length >> 8, options.length & 255, ...options]);
}
