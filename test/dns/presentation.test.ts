import { encode } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readName, readRecord } from "../../src/dns/name.ts";
import { formatNameAt, formatRdata, MessageError } from "../../src/dns/presentation.ts";

/** The position of the first answer in a message of dns-packet. */
function answer(record: object) {
  const message = new Uint8Array(
    encode({
      type: "response",
      questions: [{ type: "A", name: "a.example" }],
      answers: [{ name: "a.example", ttl: 5, ...record } as never],
    }),
  );
  return { message, place: readRecord(message, readName(message, 12) + 4)! };
}

/** A record with any bytes. */
function raw(type: number, data: readonly number[]) {
  const message = Uint8Array.of(...new Uint8Array(14), type, 0, 1, 0, 0, 0, 5, 0, data.length, ...data);
  return { message, place: readRecord(message, 12)! };
}

const formatted = ({ message, place }: ReturnType<typeof answer>) => formatRdata(message, place);

const MALFORMED_NAME = "a name is cut off or too long, or its pointers do not point backwards";

const SOA = {
  mname: "ns.a.example",
  rname: "mail.a.example",
  serial: 1,
  refresh: 2,
  retry: 3,
  expire: 4,
  minimum: 5,
};

describe("RDATA in text", () => {
  it.each([
    ["RFC 1035 section 3.4.1", { type: "A", data: "192.0.2.1" }, "192.0.2.1"],
    ["RFC 5952", { type: "AAAA", data: "2001:db8:0:0:0:0:0:1" }, "2001:db8::1"],
    ["RFC 1035 section 3.3.1", { type: "CNAME", data: "b.example" }, "b.example."],
    [
      "RFC 1035 section 3.3.9",
      { type: "MX", data: { preference: 10, exchange: "mx.example" } },
      "10 mx.example.",
    ],
    [
      "RFC 2782",
      { type: "SRV", data: { priority: 0, weight: 50, port: 443, target: "web.example" } },
      "0 50 443 web.example.",
    ],
    [
      "RFC 8659 section 4.1.1",
      { type: "CAA", data: { flags: 128, tag: "issue", value: 'ca "x"' } },
      '128 issue "ca \\"x\\""',
    ],
    [
      "RFC 1035 section 3.3.13, with compression pointers",
      { type: "SOA", data: SOA },
      "ns.a.example. mail.a.example. 1 2 3 4 5",
    ],
    ["RFC 3597 section 5", { type: "NULL", data: Buffer.from("0a0b", "hex") }, "\\# 2 0a0b"],
    ["RFC 3597 section 5, without data", { type: "NULL", data: Buffer.alloc(0) }, "\\# 0"],
  ] as const)("%s: %j is %s", (_, record, text) => expect(formatted(answer(record))).toBe(text));

  it.each<[string, number, readonly number[], string]>([
    ["AAAA", 28, [...new Array<number>(15).fill(0), 1], "::1"],
    ["NS of the root", 2, [0], "."],
    ["DNAME (RFC 6672)", 39, [1, 97, 0], "a."],
    ["SPF (RFC 7208)", 99, [1, 97, 0], '"a" ""'],
    ["HINFO", 13, [1, 97, 1, 98], '"a" "b"'],
    ["characters from space to tilde", 16, [4, 0x1f, 0x20, 0x7e, 0x7f], '"\\031 ~\\127"'],
    [
      "SOA",
      6,
      [1, 97, 0, 1, 98, 0, 0xff, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 5],
      "a. b. 4278190081 2 65536 512 5",
    ],
  ])("%s from raw bytes", (_, type, data, text) => expect(formatted(raw(type, data))).toBe(text));

  it.each<[string, readonly number[], string]>([
    ["a flag, a tag and a value", [128, 1, 97, 98], '128 a "b"'],
    ["no value", [0, 1, 97], '0 a ""'],
    ["a tag longer than the data", [0, 2, 97], "\\# 3 000261"],
    ["an empty tag", [0, 0, 97], "\\# 3 000061"],
    ["a tag that starts with another character", [0, 2, 45, 97], "\\# 4 00022d61"],
    ["a tag of other characters", [0, 2, 97, 45, 98], "\\# 5 0002612d62"],
    ["nothing", [], "\\# 0"],
  ])("CAA with %s (RFC 8659 section 4.1)", (_, data, text) => {
    const { message } = raw(1, data);
    message.set([1, 1], 13);
    expect(formatted({ message, place: readRecord(message, 12)! })).toBe(text);
  });

  it.each<[string, number, readonly number[]]>([
    ["an address of three bytes", 1, [1, 2, 3]],
    ["an IPv4 address as AAAA", 28, [1, 2, 3, 4]],
    ["an IPv6 address as A", 1, new Array<number>(16).fill(1)],
    ["a CNAME without a name", 5, []],
    ["a name with bytes behind it", 5, [0, 0]],
    ["a preference alone", 15, [0, 10]],
    ["SOA with a number too many", 6, [0, 0, ...new Array<number>(21).fill(0)]],
    ["SOA with a number too few", 6, [0, 0, ...new Array<number>(16).fill(0)]],
  ])("%s has the wrong length, and the error says so", (_, type, data) => {
    const error = new MessageError(`the data of a record of type ${type} has the wrong length`);
    expect(() => formatted(raw(type, data))).toThrow(error);
    expect(error.code).toBe("MALFORMED_MESSAGE");
  });

  it.each<[string, number, readonly number[], string]>([
    ["half a number", 15, [1], "a record's data is cut off"],
    ["a character-string that is cut off", 16, [1, 97, 2, 97], "a character-string is cut off"],
    ["a name that the end of the message cuts off", 5, [2, 97], MALFORMED_NAME],
    ["a pointer to itself", 5, [0xc0, 23], MALFORMED_NAME],
  ])("%s is malformed, and the error says why", (_, type, data, message) => {
    expect(() => formatted(raw(type, data))).toThrow(new MessageError(message));
  });

  it("TXT is character-strings in quotes (RFC 1035 section 5.1)", () => {
    const data = ["v=spf1 -all", 'say "hi" \\ ', Buffer.from([0x00, 0xe9]), ""];
    expect(formatted(answer({ type: "TXT", data }))).toBe(
      String.raw`"v=spf1 -all" "say \"hi\" \\ " "\000\233" ""`,
    );
  });

  it("character-strings can be read back from the text", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 255 }), { minLength: 1, maxLength: 4 }), (strings) => {
        const text = formatted(answer({ type: "TXT", data: strings.map((bytes) => Buffer.from(bytes)) }));
        expect(text).toMatch(/^[\x20-\x7e]*$/);
        const read = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, inner]) =>
          Buffer.from(
            inner!.replace(/\\(\d{3}|.)/g, (_, escaped: string) =>
              escaped.length === 3 ? String.fromCharCode(Number(escaped)) : escaped,
            ),
            "latin1",
          ),
        );
        expect(read).toEqual(strings.map((bytes) => Buffer.from(bytes)));
      }),
    );
  });

  it("random bytes are never read past the end of the message", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 5, 6, 13, 15, 16, 28, 33, 99),
        fc.array(fc.nat(255), { maxLength: 40 }),
        (type, data) => {
          try {
            expect(formatted(raw(type, data))).toMatch(/^[\x20-\x7e]*$/);
          } catch (error) {
            expect(error).toBeInstanceOf(MessageError);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

it("names escape characters that a host name cannot have (RFC 1035 section 5.1)", () => {
  expect(formatNameAt(Uint8Array.of(4, 97, 46, 0, 92, 0), 0)).toBe("a\\.\\000\\\\.");
  expect(formatNameAt(Uint8Array.of(0), 0)).toBe(".");
});
