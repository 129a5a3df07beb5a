import { describe, expect, it } from "vitest";
import { parseAddressRanges } from "../../src/dns/address.ts";
import { ClientNetworks, ClientRate, TokenBuckets } from "../../src/limits/client-rate.ts";

it("token buckets are forgotten if there are too many, the least recently used first", () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1 }, 2, () => 0);
  const taken = ["a", "b", "a", "c", "a", "b"].map((key) => buckets.take(buckets.of(key)));
  expect(taken).toEqual([0, 0, 1, 0, 1, 0]);
});

/** The bucket of a client, of 10 tokens, which are filled in at 2 a second. */
function openBucket() {
  const clock = { now: 0 };
  const buckets = new TokenBuckets({ perSecond: 2, burst: 10 }, 10, () => clock.now);
  return { clock, buckets, bucket: buckets.of("one") };
}

it("token buckets count how often they were empty, and take several tokens at once or none", () => {
  const { clock, buckets, bucket } = openBucket();
  expect([buckets.take(bucket, 8), buckets.take(bucket, 4), bucket.tokens, bucket.refused]).toEqual([
    0, 1, 2, 1,
  ]);
  expect([buckets.take(bucket, 9), bucket.refused]).toEqual([4, 2]);
  clock.now = 500;
  expect([buckets.take(bucket, 3), bucket.tokens]).toEqual([0, 0]);
  clock.now = 60_000;
  expect([buckets.take(bucket, 10), bucket.tokens]).toEqual([0, 0]);
});

it("a bucket owes tokens that it does not have, and nothing can be taken until they are filled in", () => {
  const { clock, buckets, bucket } = openBucket();
  buckets.owe(bucket, 4);
  expect([bucket.tokens, buckets.take(bucket, 6)]).toEqual([6, 0]);
  buckets.owe(bucket, 3);
  buckets.owe(bucket, 1);
  expect([bucket.tokens, bucket.refused]).toEqual([-4, 0]);
  expect([buckets.take(bucket), bucket.refused]).toEqual([3, 1]);
  clock.now = 1000;
  buckets.owe(bucket, 1);
  expect([bucket.tokens, bucket.refused]).toEqual([-3, 1]);
  clock.now = 3000;
  expect([buckets.take(bucket), bucket.tokens]).toEqual([0, 0]);
});

describe("networks of clients", () => {
  const networks = (ipv4PrefixBits: number, ipv6PrefixBits: number, exempt: readonly string[] = []) =>
    new ClientNetworks({ ipv4PrefixBits, ipv6PrefixBits, exempt: parseAddressRanges(exempt) });

  it.each<[string, string, number, number, boolean]>([
    ["192.0.2.1", "192.0.2.254", 24, 56, true],
    ["192.0.2.1", "192.0.3.1", 24, 56, false],
    ["192.0.2.1", "192.0.2.2", 32, 64, false],
    ["192.0.2.1", "::ffff:192.0.2.1", 32, 64, true],
    ["192.0.2.127", "192.0.2.1", 25, 64, true],
    ["192.0.2.128", "192.0.2.1", 25, 64, false],
    ["2001:db8:0:ff::1", "2001:db8:0:1::2", 24, 56, true],
    ["2001:db8:0:ff::1", "2001:db8:0:1::2", 24, 64, false],
    ["2001:db8:0:fe::1", "2001:db8:0:ff::1", 24, 63, true],
    ["2001:db8::1", "2001:db8::2", 24, 128, false],
    ["192.0.2.1", "c000:201::1", 32, 32, false],
    ["1.12.0.1", "11.2.0.1", 16, 64, false],
    ["1.12.0.1", "1.12.9.9", 16, 64, true],
    ["nonsense", "other nonsense", 32, 64, false],
    ["", "nonsense", 32, 64, false],
    ["fe80::1%eth0", "fe80::2%eth1", 32, 64, true],
  ])("%s and %s by /%i and /%i are one client: %s", (one, other, ipv4, ipv6, expected) => {
    const known = networks(ipv4, ipv6);
    expect(known.of(one) === known.of(other)).toBe(expected);
  });

  it("of exempt addresses are none; what is no address is a client all the same", () => {
    const known = networks(32, 64, ["10.0.0.0/8"]);
    expect([known.of("10.1.2.3"), known.of("::ffff:10.1.2.3")]).toEqual([undefined, undefined]);
    expect([known.of("11.1.2.3"), known.of("nonsense"), known.of("")]).not.toContain(undefined);
  });
});

const settings = { burst: 1, exempt: [], ipv4PrefixBits: 24, ipv6PrefixBits: 64, mostClients: 10 };

it("a client's rate uses the machine's clock by default, and counts how often a client's bucket was empty", () => {
  const exempt = parseAddressRanges(["10.0.0.0/8"]);
  const rate = new ClientRate({ ...settings, perSecond: 0.001, burst: 2, exempt });
  expect([rate.take("192.0.2.2"), rate.take("192.0.2.1"), rate.refusals("192.0.2.3")]).toEqual([0, 0, 0]);
  expect(rate.take("192.0.2.1")).toBeGreaterThan(900);
  expect([rate.refusals("192.0.2.3"), rate.refusals("10.0.0.1")]).toEqual([1, 0]);
});

it("a rate of 0, and an address that is not known, are without limit", () => {
  const off = new ClientRate({ ...settings, perSecond: 0 });
  const on = new ClientRate({ ...settings, perSecond: 1 }, () => 0);
  expect([off.take("192.0.2.1"), off.take("192.0.2.1")]).toEqual([0, 0]);
  expect([on.take(undefined), on.take(undefined)]).toEqual([0, 0]);
  expect([on.take("192.0.2.1"), on.take("192.0.2.1")]).toEqual([0, 1]);
});
