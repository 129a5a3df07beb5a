import { expect, it } from "vitest";
import { parseAddressRange } from "../../src/dns/address-range.ts";
import { createClientLimit } from "../../src/forward/forwarder.ts";

function limitOf(queriesPerSecond: number, burst: number, exempt: readonly string[] = []) {
  const clock = { now: 0 };
  const ranges = exempt.map((text) => parseAddressRange(text)!);
  const limit = createClientLimit({ queriesPerSecond, burst, exempt: ranges }, () => clock.now);
  const takes = (client: string | undefined, times: number) =>
    Array.from({ length: times }, () => limit.take(client)).filter((seconds) => seconds === 0).length;
  return { limit, clock, takes };
}

it("a bucket is filled evenly, up to the burst", () => {
  const { clock, takes } = limitOf(10, 5);
  expect(takes("192.0.2.1", 9)).toBe(5);
  clock.now = 300;
  expect(takes("192.0.2.1", 9)).toBe(3);
  clock.now = 3_600_000;
  expect(takes("192.0.2.1", 9)).toBe(5);
});

it.each([
  [10, 1],
  [1, 1],
  [0.1, 10],
])("with %d a second it says to come again after %d s", (rate, seconds) => {
  const { limit } = limitOf(rate, 1);
  expect([limit.take("192.0.2.1"), limit.take("192.0.2.1")]).toEqual([0, seconds]);
});

it.each([
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "::ffff:192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["fe80::1%eth0", "fe80::2%eth1", true],
])("%s and %s are one client: %s", (one, other, expected) => {
  const { limit } = limitOf(1, 1);
  expect(limit.take(one)).toBe(0);
  expect(limit.take(other) > 0).toBe(expected);
});

it.each([
  ["127.0.0.1", ["127.0.0.0/8"]],
  ["::ffff:127.0.0.1", ["127.0.0.0/8"]],
  ["2001:db8::7", ["2001:db8::/32"]],
])("%s is exempt by %j", (client, exempt) => {
  expect(limitOf(1, 1, exempt).takes(client, 100)).toBe(100);
});

it("a client without an address has no limit, and 0 means no limit for any client", () => {
  expect(limitOf(1, 1).takes(undefined, 100)).toBe(100);
  expect(limitOf(0, 1).takes("192.0.2.1", 100)).toBe(100);
});

it("any number of clients may query: the least recent one is forgotten", () => {
  const { takes } = limitOf(0.001, 1);
  expect(takes("192.0.2.1", 2)).toBe(1);
  for (let index = 0; index < 20_000; index++)
    takes(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 1);
  expect(takes("192.0.2.1", 2)).toBe(1);
  expect(takes("10.0.78.31", 1)).toBe(0);
});
