import { describe, expect, it } from "vitest";
import { isAnsweredClass, isQuery, readPlainQuery, readQuery } from "../../src/resolve/query.ts";

/** `a.` with type AAAA in class ANY. */
const QUESTION = [1, 97, 0, 0, 28, 0, 255];
const OTHER_RECORD = [0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0];
const COOKIE = [0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8];
const PADDING = [0, 12, 0, 0];
const KEEPALIVE = [0, 11, 0, 0];

interface Parts {
  readonly id?: readonly [number, number];
  readonly flags?: readonly [number, number];
  /** Questions, answers, authorities, additionals. */
  readonly counts?: readonly number[];
  readonly question?: readonly number[];
  readonly records?: readonly number[];
}

function message({ id = [0, 0], flags = [1, 0], counts = [1, 0, 0, 0], question, records }: Parts = {}) {
  const words = counts.flatMap((count) => [count >> 8, count & 255]);
  return Uint8Array.from([...id, ...flags, ...words, ...(question ?? QUESTION), ...(records ?? [])]);
}

/** An OPT record of a client that accepts 1,232 bytes. */
const opt = (options: readonly number[] = [], version = 0, flags = 0) => [
  ...[0, 0, 41, 4, 208, 0, version, flags, 0, options.length >> 8, options.length & 255],
  ...options,
];
const withOpt = (...options: readonly number[]) => message({ counts: [1, 0, 0, 1], records: opt(options) });

describe("the plain form (RFC 1035 section 4.1, RFC 6891 section 6.1.2)", () => {
  it.each([
    ["a question", message()],
    ["the root's name", message({ question: [0, 0, 2, 0, 1] })],
    ["RD, AD and CD", message({ flags: [1, 0x30] })],
    ["AA, TC and RA, which mean nothing in a query", message({ flags: [6, 0x80] })],
    ["OPT", withOpt()],
    ["OPT of another version", message({ counts: [1, 0, 0, 1], records: opt([], 1) })],
    ["OPT with DNSSEC OK", message({ counts: [1, 0, 0, 1], records: opt([], 0, 0x80) })],
    ["a cookie", withOpt(...COOKIE)],
    ["padding and keepalive", withOpt(...PADDING, ...KEEPALIVE)],
  ])("has %s: both readers agree", (_, query) => {
    expect(readPlainQuery(query)).toBeDefined();
    expect(readPlainQuery(query)).toEqual(readQuery(query));
  });

  it.each([
    ["the header alone", message({ question: [] })],
    ["a cut header", message().subarray(0, 11)],
    ["half a question", message().subarray(0, 16)],
    ["no question", message({ counts: [0, 0, 0, 0] })],
    ["257 questions", message({ counts: [257, 0, 0, 0] })],
    ["an answer", message({ counts: [1, 1, 0, 0] })],
    ["256 answers", message({ counts: [1, 256, 0, 0] })],
    ["an authority", message({ counts: [1, 0, 1, 0] })],
    ["256 authorities", message({ counts: [1, 0, 256, 0] })],
    ["two additional records", message({ counts: [1, 0, 0, 2] })],
    ["256 additional records", message({ counts: [1, 0, 0, 256] })],
    ["no OPT record, although it is announced", message({ counts: [1, 0, 0, 1] })],
    ["half an OPT record", withOpt().subarray(0, -3)],
    ["another additional record", message({ counts: [1, 0, 0, 1], records: OTHER_RECORD })],
    ["OPT below a name", message({ counts: [1, 0, 0, 1], records: [3, 97, 98, 99, ...opt()] })],
    [
      "the bytes of OPT after another first byte",
      message({ counts: [1, 0, 0, 1], records: [10, ...opt().slice(1)] }),
    ],
    ["OPT that is not announced", message({ records: opt() })],
    ["a byte after the question", message({ records: [0] })],
    ["a byte after OPT", message({ counts: [1, 0, 0, 1], records: [...opt(), 0] })],
    ["OPT that is longer than the message", withOpt(...COOKIE).subarray(0, -1)],
    ["an option that is longer than OPT", withOpt(0, 10, 0, 1)],
    ["a compressed name", message({ question: [0xc0, 12, 0, 1, 0, 1] })],
    ["the QR bit", message({ flags: [0x81, 0] })],
    ["opcode 8", message({ flags: [0x40, 0] })],
    ["opcode 1", message({ flags: [8, 0] })],
  ])("does not have %s", (_, query) => {
    expect(readPlainQuery(query)).toBeUndefined();
  });
});

describe("what is read", () => {
  it("is ID, flags, name, type and class of the question", () => {
    const query = message({ id: [0xca, 0xfe], flags: [1, 0x10] });
    expect(readQuery(query)).toMatchObject({
      ...{ id: 0xcafe, flags: 0x0110, questionEnd: 19, type: 28, class: 255, edns: undefined },
      name: { length: 3, labels: 1 },
    });
  });

  it("is version, payload, DNSSEC OK and the place of the options", () => {
    const records = opt(COOKIE, 3, 0x80);
    expect(readQuery(message({ counts: [1, 0, 0, 1], records }))).toMatchObject({
      edns: { optionsStart: 30, optionsEnd: 42, version: 3, payloadBytes: 1232, dnssecOk: true },
    });
    expect(readQuery(withOpt())).toMatchObject({
      edns: { optionsStart: 30, optionsEnd: 30, version: 0, payloadBytes: 1232, dnssecOk: false },
    });
  });

  it.each([
    ["none", [], false, false],
    ["a cookie", COOKIE, false, false],
    ["padding (RFC 7830)", PADDING, true, false],
    ["keepalive (RFC 7828)", KEEPALIVE, false, true],
    ["both after a cookie", [...COOKIE, ...PADDING, ...KEEPALIVE], true, true],
  ])("is padding and keepalive of these options: %s", (_, options, padding, keepalive) => {
    expect(readQuery(withOpt(...options))).toMatchObject({ edns: { padding, keepalive } });
  });
});

describe("the strict reader", () => {
  const many = (count: number) =>
    message({ counts: [1, 0, 0, count], records: Array.from({ length: count }, () => OTHER_RECORD).flat() });

  it("reads up to 16 additional records, of which one may be OPT", () => {
    expect(readQuery(many(16))).toMatchObject({ edns: undefined, questionEnd: 19 });
    expect(readQuery(many(17))).toHaveProperty("code", 1);
    const records = [...OTHER_RECORD, ...opt(PADDING), ...OTHER_RECORD];
    expect(readQuery(message({ counts: [1, 0, 0, 3], records }))).toMatchObject({
      edns: { padding: true, optionsStart: 41 },
    });
  });

  // The sections are counted, but have no records.
  it.each([[[0, 0, 0, 0]], [[2, 0, 0, 0]], [[1, 1, 0, 0]], [[1, 0, 1, 0]], [[1, 0, 0, 1]]])(
    "rejects the counts %j",
    (counts) => {
      expect(readQuery(message({ counts }))).toEqual({ code: 1, edns: undefined });
    },
  );

  it.each([
    ["follows an authority", message({ counts: [1, 0, 1, 1], records: [...OTHER_RECORD, ...opt()] })],
    [
      "follows an answer and an authority",
      message({ counts: [1, 1, 1, 1], records: [...OTHER_RECORD, ...OTHER_RECORD, ...opt()] }),
    ],
    ["follows two questions", message({ counts: [2, 0, 0, 1], records: [...QUESTION, ...opt()] })],
    [
      "follows another additional record",
      message({ counts: [1, 0, 0, 2], records: [...OTHER_RECORD, ...opt(), 0] }),
    ],
    ["has half an option", message({ counts: [1, 0, 0, 1], records: opt([...PADDING, 0, 12]) })],
  ])("finds the OPT record of a malformed message if it %s (RFC 6891 section 6.1.1)", (_, query) => {
    expect(readQuery(query)).toMatchObject({ code: 1, edns: { payloadBytes: 1232, version: 0 } });
  });

  it("finds padding before a malformed option, and in a message with another opcode", () => {
    const half = message({ counts: [1, 0, 0, 1], records: opt([...PADDING, 0, 11, 0]) });
    expect(readQuery(half)).toMatchObject({ code: 1, edns: { padding: true, keepalive: false } });
    const status = message({ flags: [0x10, 0], counts: [1, 0, 0, 1], records: opt(PADDING) });
    expect(readQuery(status)).toMatchObject({ code: 4, edns: { padding: true } });
  });

  it.each([
    ["is not announced", message({ records: opt() })],
    ["is in the answer section", message({ counts: [1, 1, 0, 0], records: opt() })],
    ["is in the authority section", message({ counts: [1, 0, 1, 0], records: opt() })],
    ["is below a name", message({ counts: [1, 0, 0, 1], records: [3, 97, 98, 99, ...opt()] })],
    ["has another type", message({ counts: [1, 0, 0, 1], records: [...OTHER_RECORD, 0] })],
    ["is cut off", withOpt().subarray(0, -1)],
    ["follows a malformed name", message({ counts: [2, 0, 0, 1], records: [0x41, ...opt()] })],
  ])("finds no OPT record that %s", (_, query) => {
    expect(readQuery(query)).toEqual({ code: 1, edns: undefined });
  });
});

it("a query has a header, and no QR bit (RFC 1035 section 4.1.1)", () => {
  expect(isQuery(new Uint8Array(0))).toBe(false);
  expect(isQuery(new Uint8Array(11))).toBe(false);
  expect(isQuery(new Uint8Array(12))).toBe(true);
  expect(isQuery(message({ flags: [0x7f, 0xff] }))).toBe(true);
  expect(isQuery(message({ flags: [0x80, 0] }))).toBe(false);
});

it("classes IN and ANY are answered (RFC 1035 section 3.2.5)", () => {
  expect([0, 1, 2, 3, 254, 255, 256].filter(isAnsweredClass)).toEqual([1, 255]);
});
