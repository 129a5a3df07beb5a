import { describe, expect, it } from "vitest";
import { isInRange, parseAddressRange, readSocketAddress } from "../../src/dns/address-range.ts";

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

  it.each(["", "10.0.0.0/33", "10.0.0.1/8", "fd00::/129", "10.0.0.0/08", "10.0.0/8", "host", "1.2.3.4/"])(
    "%j is not a range",
    (text) => {
      expect(parseAddressRange(text)).toBeUndefined();
    },
  );
});
