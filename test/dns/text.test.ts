import { isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatAddress,
  formatReverseName,
  isAboveReverseNames,
  isInRange,
  parseAddress,
  parseAddressRange,
  parseAddressRanges,
  readPodLabel,
  readReverseName,
  readSocketAddress,
  usableAddress,
} from "../../src/dns/address.ts";
import { foldName, formatName, NameError, parseName } from "../../src/dns/name.ts";

const wire = (text: string) => foldName(parseName(text));

describe("addresses in text", () => {
  it("are valid exactly if node:net accepts them", () => {
    const almost = fc.string({ unit: fc.constantFrom(..."0123456789abcdef:.%".split("")), maxLength: 24 });
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), almost), (text) => {
        const v4 =
          /^\d+(\.\d+){3}$/.test(text) &&
          text.split(".").every((part) => part === String(Number(part)) && Number(part) < 256);
        expect(parseAddress(text) !== undefined).toBe(v4 || (isIPv6(text) && !text.includes("%")));
      }),
      { numRuns: 2000 },
    );
  });

  it("are the same after reading and writing (RFC 5952 for IPv6)", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = formatAddress(bytes);
        expect(parseAddress(text)).toEqual(bytes);
        expect(new URL(`http://[${text}]/`).hostname).toBe(`[${text}]`);
      }),
    );
  });

  it.each([
    ["0.0.0.1", true],
    ["::fffe:1.2.3.4", true],
    ["::feff:1.2.3.4", true],
    ["::1:ffff:1.2.3.4", true],
    ["1::ffff:1.2.3.4", true],
    ["::ffff:1.2.3.4", false],
    ["0.0.0.0", false],
    ["::", false],
    ["010.0.0.1", false],
    ["1.2.3", false],
    ["fe80::1%eth0", false],
    ["", false],
  ])("%j is usable in a record: %s", (text, isUsable) => {
    expect(usableAddress(text) !== undefined).toBe(isUsable);
  });
});

describe("pod labels (DNS-based service discovery 1.0.1, section 2.6)", () => {
  it.each([
    ["10-0-0-1", "10.0.0.1"],
    ["255-255-255-255", "255.255.255.255"],
    ["2001-db8--1", "2001:db8::1"],
    ["--1", "::1"],
    ["1--2-3", "1::2:3"],
    ["1-2-3-4-5-6-7-8", "1:2:3:4:5:6:7:8"],
    ["10-0-0", undefined],
    ["10-0-0-256", undefined],
    ["10-0-0-01", undefined],
    ["1-2-3-4-5", undefined],
    ["--ffff-a00-1", undefined],
    ["a-b-c-d", undefined],
    ["10.0.0.1", undefined],
  ])("%s is the address %s", (label, address) => {
    const bytes = readPodLabel(wire(`${label}.shop`));
    expect(bytes && formatAddress(bytes)).toBe(address);
  });
});

describe("reverse names (RFC 1035 section 3.5, RFC 3596 section 2.5)", () => {
  const read = (text: string) => {
    const into = new Uint8Array(16);
    const name = wire(text);
    return into.slice(0, readReverseName(name, name.length, into));
  };
  const isAbove = (name: Uint8Array) => isAboveReverseNames(name, name.length);

  it("are read as the address that they were written from, and each name above them is known", () => {
    const bytes = fc
      .constantFrom(4, 16)
      .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
    fc.assert(
      fc.property(bytes, (address) => {
        const name = formatReverseName(address);
        expect(read(name)).toEqual(Uint8Array.from(address));
        expect(isAbove(wire(name))).toBe(false);
        const labels = name.split(".");
        for (let first = 1; first < labels.length - 1; first++)
          expect(isAbove(wire(labels.slice(first).join(".")))).toBe(true);
      }),
    );
  });

  it.each([
    "1.2.3.00.in-addr.arpa",
    "1.2.3.1000.in-addr.arpa",
    "1.2.3.1a.in-addr.arpa",
    "1.2.3./.in-addr.arpa",
    "1.2.3.:.in-addr.arpa",
    "1.2.3.4.5.in-addr.arpa",
    "1.2.3.256.in-addr.arpa",
    `${"/.".repeat(32)}ip6.arpa`,
    `${":.".repeat(32)}ip6.arpa`,
    `${"`.".repeat(32)}ip6.arpa`,
    `${"g.".repeat(32)}ip6.arpa`,
    `00.${"0.".repeat(29)}0.ip6.arpa`,
    `${"0.".repeat(33)}ip6.arpa`,
    "1.2.3.4.in-addr.arpb",
    "1.2.3.4.on-addr.arpa",
    `${"0.".repeat(32)}ip6.test`,
    `${"0.".repeat(32)}ip7.arpa`,
    ".",
    "xarpa",
    "home.arpa",
    "256.in-addr.arpa",
    "01.in-addr.arpa",
    "1000.in-addr.arpa",
    "x1.in-addr.arpa",
    "1x.in-addr.arpa",
    "x10.2.in-addr.arpa",
    "xin-addr.arpa",
    "g.ip6.arpa",
    "00.ip6.arpa",
    "0.x.ip6.arpa",
    "in-addr.arpa.test",
  ])("%s is neither one nor above one", (name) => {
    expect(read(name)).toHaveLength(0);
    expect(isAbove(wire(name))).toBe(false);
  });

  it("ignore a label that only ends like the zone's", () => {
    expect(isAbove(Uint8Array.from([15, 1, 49, ...wire("in-addr.arpa").slice(0, 13), 0]))).toBe(false);
  });
});

describe("names in text (RFC 1035 section 5.1)", () => {
  it("are the same after writing and reading, with any bytes", () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
        const wire = Uint8Array.from([...labels.flatMap((bytes) => [bytes.length, ...bytes]), 0]);
        expect(parseName(formatName(wire))).toEqual(wire);
      }),
    );
  });

  it("fold ASCII letters only (RFC 4343)", () => {
    expect([...foldName(Uint8Array.of(3, 65, 90, 0xc4, 0))]).toEqual([3, 97, 122, 0xc4, 0]);
  });

  it.each([
    ["a.B", [1, 97, 1, 66, 0]],
    [".", [0]],
    ["\\046.a", [1, 46, 1, 97, 0]],
    ["\\.\\\\", [2, 46, 92, 0]],
  ])("%s is read byte by byte", (text, bytes) => {
    expect([...parseName(text)]).toEqual(bytes);
  });

  it.each([
    [[0], "."],
    [[6, 0x20, 0x21, 0x7e, 0x7f, 0x00, 0xff, 0], "\\032!~\\127\\000\\255."],
    [[9, ...Buffer.from('."\\;()@$a'), 0], '\\.\\"\\\\\\;\\(\\)\\@\\$a.'],
  ])("%j is written as %s", (bytes, text) => {
    expect(formatName(Uint8Array.from(bytes))).toBe(text);
  });

  it("have at most 255 bytes and labels of at most 63", () => {
    const most = `${"x".repeat(63)}.${"x".repeat(63)}.${"x".repeat(63)}.${"x".repeat(61)}`;
    expect(parseName(most)).toHaveLength(255);
    expect(() => parseName(`${most}x`)).toThrow(
      new NameError(`${JSON.stringify(most.slice(0, 64))}… takes 256 bytes; at most 255 are allowed`),
    );
  });

  it.each([
    ["", "the name is empty; write the root as a dot"],
    ["a..b", '"a..b" has an empty label'],
    [`${"x".repeat(64)}.a`, `"${"x".repeat(64)}.a" has a label of 64 bytes; at most 63 are allowed`],
    [
      "a\\256",
      '"a\\\\256" has a malformed escape at position 1: a backslash needs three digits (\\000 to \\255) or another character after it',
    ],
    [
      "aé",
      '"aé" has a character at position 1 that a name must not contain; write it as \\DDD, or an international name as its A-label (xn--…)',
    ],
  ])("%j is rejected with the reason", (text, message) => {
    expect(() => parseName(text)).toThrow(new NameError(message));
  });

  it.each(["a\u007fb", "a b"])("%j is rejected", (text) => {
    expect(() => parseName(text)).toThrow(/at position 1/);
  });
});

describe("ranges of addresses (RFC 4632, RFC 4291 section 2.3)", () => {
  it.each([
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["10.0.0.128/25", "10.0.0.127", false],
    ["10.0.0.128/25", "10.0.0.129", true],
    ["127.0.0.1", "127.0.0.1", true],
    ["127.0.0.1", "127.0.0.2", false],
    ["0.0.0.0/0", "192.0.2.1", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["fd00::/8", "fdff::1", true],
    ["fd00::/8", "fe00::1", false],
    ["fe80::/10", "fe80::1%eth0", true],
    // A socket that listens on both families reports IPv4 this way.
    ["127.0.0.0/8", "::ffff:127.0.0.1", true],
  ])("%s contains %s: %s", (range, address, expected) => {
    expect(isInRange(readSocketAddress(address)!, parseAddressRange(range)!)).toBe(expected);
  });

  it("are read one by one, and the error names the first invalid one", () => {
    expect(parseAddressRanges(["10.0.0.0/8", "::1"]).map(({ prefixBits }) => prefixBits)).toEqual([8, 128]);
    expect(() => parseAddressRanges(["10.0.0.0/8", "nonsense"])).toThrow(
      new RangeError('"nonsense" is not a range of addresses: write 10.0.0.0/8, fd00::/8 or 127.0.0.1'),
    );
  });

  it.each([
    "x10.0.0.0/8",
    "10.0.0.0/8x",
    "10.0.0.0/",
    "10.0.0.0/1000",
    "10.0.0.0/33",
    "10.0.0.1/8",
    "fd00::/129",
    "10.0.0.0/08",
    "host",
  ])("%j is not one", (text) => {
    expect(parseAddressRange(text)).toBeUndefined();
  });
});
