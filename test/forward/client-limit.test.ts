import { expect, it } from "vitest";
import { parseAddressRange } from "../../src/dns/address.ts";
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
it("a client without an address has no limit, and 0 means no limit for any client", () => {
  expect(limitOf(1, 1).takes(undefined, 100)).toBe(100);
  expect(limitOf(0, 1).takes("192.0.2.1", 100)).toBe(100);
});
