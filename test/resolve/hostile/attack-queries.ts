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

const { NOERROR, FORMERR, NOTIMP, REFUSED } = Rcode;
const ZONE = "clusterset.local";

const attack = (
  title: string,
  query: Buffer,
  gets: AttackQuery["gets"] = FORMERR,
  most?: number,
): AttackQuery => ({ title, query, gets, ...(most !== undefined && { most }) });

/** A query with additional records, as many as there are copies of one, or as declared. */
const adding = (additional: number, behind: Uint8Array) =>
  message(WEB, { counts: [1, 0, 0, additional], behind });
const records = (count: number) => Buffer.alloc(count * RECORD.length, RECORD);
const pointingToEachOther = Buffer.of(0xc0, 0x0c, 0, 5, 0, 1, 0, 0, 0, 0, 0, 2, 0xc0, 0x0c);
const optOf = (code: number, length: number) => adding(1, opt(option(code, length)));
const A64 = "a".repeat(63);

/** The attacks that DoH servers have met (2025 and 2026), and their kin. */
export const attackQueries: readonly AttackQuery[] = [
  ...Array.from({ length: 15 }, (_, index) =>
    attack(
      `opcode ${index + 1}${index === 4 ? ", UPDATE" : ""}`,
      message(WEB, { flags: ((index + 1) << 11) | QUERY }),
      NOTIMP,
    ),
  ),
  attack(
    "UPDATE with a record to add (RFC 2136)",
    message(ZONE, {
      flags: 5 << 11,
      counts: [1, 0, 1, 0],
      type: 6,
      behind: Buffer.concat([labels(WEB), Buffer.of(0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 6, 6, 6, 6)]),
    }),
    NOTIMP,
  ),
  attack("an answer", message(WEB, { flags: 0x8180 }), "no query"),
  attack("nothing", Buffer.alloc(0), "no query"),
  attack("half a header", message(WEB).subarray(0, 11), "no query"),
  ...(
    [
      [65_535, 0, 0, 0],
      [1, 65_535, 0, 0],
      [1, 0, 65_535, 0],
      [1, 0, 0, 65_535],
      [65_535, 65_535, 65_535, 65_535],
      [0, 0, 0, 0],
      [2, 0, 0, 0],
    ] as const
  ).map((counts) => attack(`counts ${counts.join(", ")}`, message(WEB, { counts }))),
  attack(
    "5,000 questions that are there",
    message(WEB, { counts: [5001, 0, 0, 0], behind: Buffer.alloc(25_000, Buffer.of(0, 0, 1, 0, 1)) }),
    FORMERR,
    12,
  ),
  attack("5,000 additional records that are there", adding(5000, records(5000)), FORMERR, 12),
  attack(
    "records that point to each other, to unpack into megabytes",
    adding(5000, Buffer.alloc(60_000, pointingToEachOther)),
    FORMERR,
    12,
  ),
  attack("a name that points to itself", message(Buffer.of(0xc0, 0x0c))),
  attack("a name that points onwards", message(Buffer.of(0xc0, 0x10))),
  attack("a name that points back into itself", message(Buffer.of(1, 0x61, 0xc0, 0x0c))),
  attack(
    "an additional record whose name points to itself (RFC 1035 section 4.1.4)",
    adding(1, Buffer.of(0xc0, message(WEB).length, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0)),
  ),
  attack("a label type of old", message(Buffer.of(0x41, 1, 2, 0))),
  attack("a name of 256 bytes", message(`${A64}.${A64}.${A64}.${"a".repeat(62)}`)),
  attack("an EDNS option of 60,000 bytes", optOf(65_001, 60_000), NOERROR, 1000),
  attack("padding of 60,000 bytes", optOf(12, 60_000), NOERROR, 1000),
  attack("15,000 EDNS options", adding(1, opt(Buffer.alloc(60_000, option(3, 0)))), NOERROR, 1000),
  attack("an EDNS option that is longer than its record", adding(1, opt(Buffer.of(0, 10, 255, 255)))),
  attack("two OPT records", adding(2, Buffer.concat([opt(Buffer.alloc(0)), opt(Buffer.alloc(0))]))),
  ...[16, 17].map((count) =>
    attack(
      `${count} additional records, of which 16 are read`,
      adding(count, records(count)),
      count > 16 ? FORMERR : NOERROR,
    ),
  ),
  attack(
    "an OPT record below a name (RFC 6891 section 6.1.2)",
    adding(1, Buffer.concat([Buffer.of(1, 97), opt(Buffer.alloc(0))])),
  ),
  attack("ANY, for as large an answer as can be", message(BIG, { type: 255 }), NOERROR),
  attack("AXFR", message(ZONE, { type: 252 }), REFUSED),
  ...[0, 1, 2].map((count) =>
    attack(
      `IXFR with ${count} records in the authority section (RFC 1995 section 3)`,
      message(ZONE, { type: 251, counts: [1, 0, count, 0], behind: records(count) }),
      count > 1 ? FORMERR : REFUSED,
    ),
  ),
  attack("version.bind of class CH", message("version.bind", { type: 16, class: 3 }), REFUSED),
  attack("somebody else's name", message("www.example.com"), REFUSED),
  attack("bytes behind the question", message(WEB, { behind: Buffer.alloc(60_000) })),
];
