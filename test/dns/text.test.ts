import { isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress, usableAddress } from "../../src/dns/address.ts";
import { foldName, formatName, parseName } from "../../src/dns/name.ts";
import { formatReverseName, readReverseName } from "../../src/dns/reverse.ts";

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
