import { isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  formatAddress,
  formatReverseName,
  isAboveReverseNames,
  isInRange,
  isMapped,
  parseAddress,
  parseAddressRange,
  parseAddressRanges,
  readPodLabel,
  readReverseName,
  readSocketAddress,
  usableAddress,
} from "../../src/dns/address.ts";
import { countLabels, foldName, formatName, NameError, parseName } from "../../src/dns/name.ts";

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

  it.each(["0.0.0.0", "::", "::ffff:192.0.2.1", "010.0.0.1", "1.2.3", "fe80::1%eth0", ""])(
    "%j is not usable in a record",
    (text) => {
      expect(usableAddress(text)).toBeUndefined();
    },
  );
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
});

describe("reverse names (RFC 1035 section 3.5, RFC 3596 section 2.5)", () => {
  const read = (text: string) => {
    const into = new Uint8Array(16);
    const wire = foldName(parseName(text));
    return into.slice(0, readReverseName(wire, wire.length, into));
  };

  it("are read as the address that they were written from", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    );
    fc.assert(
      fc.property(bytes, (address) => {
        expect(read(formatReverseName(address))).toEqual(Uint8Array.from(address));
      }),
    );
  });
});

const wire = (text: string) => foldName(parseName(text));
const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
};

describe("pod labels (DNS-based service discovery 1.0.1, section 2.6)", () => {
  it.each([
    ["10-0-0-1", "10.0.0.1"],
    ["255-255-255-255", "255.255.255.255"],
    ["2001-db8--1", "2001:db8::1"],
    ["--1", "::1"],
    ["1--2-3", "1::2:3"],
    ["1-2-3-4-5-6-7-8", "1:2:3:4:5:6:7:8"],
  ])("%s is the address %s", (label, address) => {
    expect(formatAddress(readPodLabel(wire(`${label}.shop`))!)).toBe(address);
  });

  it.each(["10-0-0", "10-0-0-256", "10-0-0-01", "web", "1-2-3-4-5", "--ffff-a00-1", "a-b-c-d", "10.0.0.1"])(
    "%s is not an address",
    (label) => {
      expect(readPodLabel(wire(`${label}.shop`))).toBeUndefined();
    },
  );
});

describe("names above reverse names", () => {
  const isAbove = (name: string) => isAboveReverseNames(wire(name), wire(name).length);

  it.each([
    "arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "10.in-addr.arpa",
    "0.in-addr.arpa",
    "255.0.10.in-addr.arpa",
    "f.ip6.arpa",
    `${"0.".repeat(31)}ip6.arpa`,
  ])("%s is one", (name) => {
    expect(isAbove(name)).toBe(true);
  });

  it.each([
    ".",
    "test",
    "xarpa",
    "a.arpa",
    "home.arpa",
    "1.2.3.4.in-addr.arpa",
    "256.in-addr.arpa",
    "01.in-addr.arpa",
    "x.in-addr.arpa",
    "1000.in-addr.arpa",
    "x1.in-addr.arpa",
    "1x.in-addr.arpa",
    "x10.2.in-addr.arpa",
    "xin-addr.arpa",
    "g.ip6.arpa",
    "00.ip6.arpa",
    "g0.ip6.arpa",
    "0.x.ip6.arpa",
    `${"0.".repeat(32)}ip6.arpa`,
    "in-addr.arpa.test",
  ])("%s is not one", (name) => {
    expect(isAbove(name)).toBe(false);
  });

  it("ignores a label that only ends like the zone's", () => {
    const name = Uint8Array.from([15, 1, 49, ...wire("in-addr.arpa").slice(0, 13), 0]);
    expect(isAboveReverseNames(name, name.length)).toBe(false);
  });
});

describe("reverse names", () => {
  const read = (text: string) => {
    const into = new Uint8Array(16);
    const name = wire(text);
    return formatAddressOf(into, readReverseName(name, name.length, into));
  };
  const formatAddressOf = (bytes: Uint8Array, length: number) =>
    length === 0 ? undefined : formatAddress(bytes.slice(0, length));

  it.each([
    "1.2.3.00.in-addr.arpa",
    "1.2.3.1000.in-addr.arpa",
    "1.2.3.1a.in-addr.arpa",
    "1.2.3./.in-addr.arpa",
    "1.2.3.:.in-addr.arpa",
    `${"/.".repeat(32)}ip6.arpa`,
    `${":.".repeat(32)}ip6.arpa`,
    `${"`.".repeat(32)}ip6.arpa`,
    `00.${"0.".repeat(30)}0.ip6.arpa`,
    `${"0.".repeat(32)}ip6.test`,
    `${"0.".repeat(33)}ip6.arpa`,
    `000.${"0.".repeat(30)}ip6.arpa`,
    "1.2.3.4.in-addr.arpb",
    "1.2.3.4.on-addr.arpa",
    `${"0.".repeat(32)}ip7.arpa`,
    `00.${"0.".repeat(29)}0.ip6.arpa`,
  ])("%s is not one", (name) => {
    expect(read(name)).toBeUndefined();
  });
});

describe("addresses", () => {
  it.each([
    ["::ffff:1.2.3.4", true],
    ["::fffe:1.2.3.4", false],
    ["::feff:1.2.3.4", false],
    ["::1:ffff:1.2.3.4", false],
    ["1::ffff:1.2.3.4", false],
  ])("%s is mapped: %s", (text, expected) => {
    expect(isMapped(parseAddress(text)!)).toBe(expected);
    expect(usableAddress(text) === undefined).toBe(expected);
  });

  it("of 4 bytes are never mapped, and are usable unless all bytes are 0", () => {
    expect(isMapped(parseAddress("0.0.0.0")!)).toBe(false);
    expect(usableAddress("0.0.0.1")).toEqual(Uint8Array.of(0, 0, 0, 1));
  });
});

describe("ranges", () => {
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
    "10.0.0.0//8",
    "10.128.0.0/8",
    "10.0.0.0/1000",
    "::/08",
    "a/10.0.0.0/8",
    "",
    "10.0.0.0/33",
    "10.0.0.1/8",
    "fd00::/129",
    "10.0.0.0/08",
    "10.0.0/8",
    "host",
  ])("%j is not one", (text) => {
    expect(parseAddressRange(text)).toBeUndefined();
  });
});

describe("names", () => {
  it.each([
    [".", 0],
    ["a", 1],
    ["a.bc.def.", 3],
  ])("%s has %i labels", (name, labels) => {
    expect(countLabels(wire(name))).toBe(labels);
  });

  it.each([
    ["a.B.", [1, 97, 1, 66, 0]],
    ["a", [1, 97, 0]],
    [".", [0]],
    ["\\046.a", [1, 46, 1, 97, 0]],
    ["\\255", [1, 255, 0]],
    ["\\.\\\\", [2, 46, 92, 0]],
    ["a\\032b", [3, 97, 32, 98, 0]],
    ["!~", [2, 33, 126, 0]],
  ])("%s is read byte by byte", (text, bytes) => {
    expect([...parseName(text)]).toEqual(bytes);
  });

  it.each([
    [[0], "."],
    [[1, 97, 1, 66, 0], "a.B."],
    [[6, 0x20, 0x21, 0x7e, 0x7f, 0x00, 0xff, 0], "\\032!~\\127\\000\\255."],
    [[9, ...Buffer.from('."\\;()@$a'), 0], '\\.\\"\\\\\\;\\(\\)\\@\\$a.'],
  ])("%j is written as %s", (bytes, text) => {
    expect(formatName(Uint8Array.from(bytes))).toBe(text);
  });

  it("are written from an offset", () => {
    expect(formatName(Uint8Array.of(9, 1, 97, 0), 1)).toBe("a.");
    expect(formatName(Uint8Array.of(9, 0), 1)).toBe(".");
  });

  it("have at most 255 bytes and labels of at most 63", () => {
    const most = `${"x".repeat(63)}.${"x".repeat(63)}.${"x".repeat(63)}.${"x".repeat(61)}`;
    expect(parseName(most)).toHaveLength(255);
    expect(messageOf(() => parseName(`${most}x`))).toBe(
      `${JSON.stringify(most.slice(0, 64))}… takes 256 bytes; at most 255 are allowed`,
    );
  });

  it.each([
    ["", "the name is empty; write the root as a dot"],
    ["a..b", '"a..b" has an empty label'],
    ["..", '".." has an empty label'],
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
    expect(messageOf(() => parseName(text))).toBe(message);
    expect(() => parseName(text)).toThrow(NameError);
  });

  it("an error has a code", () => {
    expect(new NameError("x").code).toBe("INVALID_NAME");
  });

  it.each(["a\u007fb", "a b", "a\tb"])("%j is rejected", (text) => {
    expect(() => parseName(text)).toThrow(/at position 1/);
  });
});

const covers = (range: string, address: string) =>
  isInRange(readSocketAddress(address)!, parseAddressRange(range)!);

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
    expect(covers(range, address)).toBe(expected);
  });
});
