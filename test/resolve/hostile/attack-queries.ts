import { BIG, WEB } from "../../e2e/clients/listening-gateway.ts";
import { Rcode } from "./query-judge.ts";

/** A query of an attack, and what it must get. */
export interface AttackQuery {
  readonly title: string;
  readonly query: Buffer;
  /** "no query": bytes that are none, which get 400 over HTTP. */
  readonly gets: number | "no query";
  /** The longest answer to it, in bytes. Default: the query's length and 300. */
  readonly most?: number;
}

const QUERY = 0x0100;
const OPT_HEAD = [0, 0, 41, 4, 208, 0, 0, 0, 0];

interface Parts {
  readonly flags?: number;
  readonly counts?: readonly [number, number, number, number];
  readonly type?: number;
  readonly class?: number;
  readonly behind?: Uint8Array;
}

/** A message with one question, whose header and end may be wrong. */
function message(name: Uint8Array | string, parts: Parts = {}): Buffer {
  const {
    flags = QUERY,
    counts = [1, 0, 0, 0],
    type = 1,
    class: ofClass = 1,
    behind = Buffer.alloc(0),
  } = parts;
  const words = (...values: number[]) => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));
  const question = typeof name === "string" ? labels(name) : name;
  return Buffer.concat([words(0x1234, flags, ...counts), question, words(type, ofClass), behind]);
}

function labels(name: string): Buffer {
  const parts = name
    .split(".")
    .map((label) => Buffer.from(String.fromCharCode(label.length) + label, "latin1"));
  return Buffer.concat([...parts, Buffer.of(0)]);
}

function opt(options: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(...OPT_HEAD, options.length >> 8, options.length & 255), options]);
}

const option = (code: number, length: number) =>
  Buffer.concat([Buffer.of(code >> 8, code & 255, length >> 8, length & 255), Buffer.alloc(length, 0x61)]);
/** A record of one byte of name and eleven of the rest, without data. */
const RECORD = Buffer.of(0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0);

const opcodes: AttackQuery[] = Array.from({ length: 15 }, (_, index) => ({
  title: `opcode ${index + 1}${index === 4 ? ", UPDATE" : ""}`,
  query: message(WEB, { flags: ((index + 1) << 11) | QUERY }),
  gets: Rcode.NOTIMP,
}));

/** The attacks that DoH servers have met (2025 and 2026), and their kin. */
export const attackQueries: readonly AttackQuery[] = [
  ...opcodes,
  {
    title: "UPDATE with a record to add (RFC 2136)",
    query: message("clusterset.local", {
      flags: 5 << 11,
      counts: [1, 0, 1, 0],
      type: 6,
      behind: Buffer.concat([labels(WEB), Buffer.of(0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 6, 6, 6, 6)]),
    }),
    gets: Rcode.NOTIMP,
  },
  { title: "an answer", query: message(WEB, { flags: 0x8180 }), gets: "no query" },
  { title: "nothing", query: Buffer.alloc(0), gets: "no query" },
  { title: "half a header", query: message(WEB).subarray(0, 11), gets: "no query" },
  ...[
    [65_535, 0, 0, 0],
    [1, 65_535, 0, 0],
    [1, 0, 65_535, 0],
    [1, 0, 0, 65_535],
    [65_535, 65_535, 65_535, 65_535],
    [0, 0, 0, 0],
    [2, 0, 0, 0],
  ].map((counts) => ({
    title: `counts ${counts.join(", ")}`,
    query: message(WEB, { counts: counts as [number, number, number, number] }),
    gets: Rcode.FORMERR,
  })),
  {
    title: "5,000 questions that are there",
    query: message(WEB, { counts: [5001, 0, 0, 0], behind: Buffer.alloc(25_000, Buffer.of(0, 0, 1, 0, 1)) }),
    gets: Rcode.FORMERR,
    most: 12,
  },
  {
    title: "5,000 additional records that are there",
    query: message(WEB, { counts: [1, 0, 0, 5000], behind: Buffer.alloc(55_000, RECORD) }),
    gets: Rcode.FORMERR,
    most: 12,
  },
  {
    title: "records that point to each other, to unpack into megabytes",
    query: message(WEB, {
      counts: [1, 0, 0, 5000],
      behind: Buffer.alloc(60_000, Buffer.of(0xc0, 0x0c, 0, 5, 0, 1, 0, 0, 0, 0, 0, 2, 0xc0, 0x0c)),
    }),
    gets: Rcode.FORMERR,
    most: 12,
  },
  { title: "a name that points to itself", query: message(Buffer.of(0xc0, 0x0c)), gets: Rcode.FORMERR },
  { title: "a name that points onwards", query: message(Buffer.of(0xc0, 0x10)), gets: Rcode.FORMERR },
  {
    title: "a name that points back into itself",
    query: message(Buffer.of(1, 0x61, 0xc0, 0x0c)),
    gets: Rcode.FORMERR,
  },
  {
    title: "an additional record whose name points to itself (RFC 1035 section 4.1.4)",
    query: message(WEB, {
      counts: [1, 0, 0, 1],
      behind: Buffer.of(0xc0, message(WEB).length, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0),
    }),
    gets: Rcode.FORMERR,
  },
  { title: "a label type of old", query: message(Buffer.of(0x41, 1, 2, 0)), gets: Rcode.FORMERR },
  {
    title: "a name of 256 bytes",
    query: message(`${"a".repeat(63)}.${"a".repeat(63)}.${"a".repeat(63)}.${"a".repeat(62)}`),
    gets: Rcode.FORMERR,
  },
  {
    title: "an EDNS option of 60,000 bytes",
    query: message(WEB, { counts: [1, 0, 0, 1], behind: opt(option(65_001, 60_000)) }),
    gets: Rcode.NOERROR,
    most: 1000,
  },
  {
    title: "padding of 60,000 bytes",
    query: message(WEB, { counts: [1, 0, 0, 1], behind: opt(option(12, 60_000)) }),
    gets: Rcode.NOERROR,
    most: 1000,
  },
  {
    title: "15,000 EDNS options",
    query: message(WEB, { counts: [1, 0, 0, 1], behind: opt(Buffer.alloc(60_000, option(3, 0))) }),
    gets: Rcode.NOERROR,
    most: 1000,
  },
  {
    title: "an EDNS option that is longer than its record",
    query: message(WEB, { counts: [1, 0, 0, 1], behind: opt(Buffer.of(0, 10, 255, 255)) }),
    gets: Rcode.FORMERR,
  },
  {
    title: "two OPT records",
    query: message(WEB, {
      counts: [1, 0, 0, 2],
      behind: Buffer.concat([opt(Buffer.alloc(0)), opt(Buffer.alloc(0))]),
    }),
    gets: Rcode.FORMERR,
  },
  ...[16, 17].map((count) => ({
    title: `${count} additional records, of which 16 are read`,
    query: message(WEB, { counts: [1, 0, 0, count], behind: Buffer.alloc(count * RECORD.length, RECORD) }),
    gets: count > 16 ? Rcode.FORMERR : Rcode.NOERROR,
  })),
  {
    title: "an OPT record below a name (RFC 6891 section 6.1.2)",
    query: message(WEB, {
      counts: [1, 0, 0, 1],
      behind: Buffer.concat([Buffer.of(1, 97), opt(Buffer.alloc(0))]),
    }),
    gets: Rcode.FORMERR,
  },
  { title: "ANY, for as large an answer as can be", query: message(BIG, { type: 255 }), gets: Rcode.NOERROR },
  { title: "AXFR", query: message("clusterset.local", { type: 252 }), gets: Rcode.REFUSED },
  ...[0, 1, 2].map((count) => ({
    title: `IXFR with ${count} records in the authority section (RFC 1995 section 3)`,
    query: message("clusterset.local", {
      type: 251,
      counts: [1, 0, count, 0],
      behind: Buffer.alloc(count * RECORD.length, RECORD),
    }),
    gets: count > 1 ? Rcode.FORMERR : Rcode.REFUSED,
  })),
  {
    title: "version.bind of class CH",
    query: message("version.bind", { type: 16, class: 3 }),
    gets: Rcode.REFUSED,
  },
  { title: "somebody else's name", query: message("www.example.com"), gets: Rcode.REFUSED },
  {
    title: "bytes behind the question",
    query: message(WEB, { behind: Buffer.alloc(60_000) }),
    gets: Rcode.FORMERR,
  },
];
