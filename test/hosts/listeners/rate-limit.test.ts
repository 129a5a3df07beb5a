import { describe, expect, it } from "vitest";
import { Dns } from "../../../src/config/listeners.ts";
import { ResponseRateLimit } from "../../../src/hosts/node/listeners/udp.ts";
import { SharedBuckets } from "../../../src/limits/shared.ts";

function start(settings: object) {
  let now = 1000;
  const { rateLimit } = Dns.parse({ rateLimit: settings });
  const limit = new ResponseRateLimit(rateLimit, undefined, (rate) => {
    return new SharedBuckets(SharedBuckets.allocate(100), rate, () => now);
  });
  return {
    take: (address: string, times = 1) => Array.from({ length: times }, () => limit.take(address)),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const answers = (count: number) => new Array<string>(count).fill("answer");
const LIMIT = { answersPerSecond: 10, burst: 3, slip: 0 };

describe("response rate limiting", () => {
  it("allows a burst, then a rate of answers", () => {
    const { take, pass } = start(LIMIT);
    expect(take("192.0.2.1", 5)).toEqual([...answers(3), "drop", "drop"]);
    pass(100);
    expect(take("192.0.2.1", 2)).toEqual(["answer", "drop"]);
    pass(60_000);
    expect(take("192.0.2.1", 4)).toEqual([...answers(3), "drop"]);
  });

  it.each([
    ["192.0.2.1", "192.0.2.254", true],
    ["192.0.2.1", "192.0.3.1", false],
    ["2001:db8:0:ff::1", "2001:db8:0:1::2", true],
    ["2001:db8:0:ff::1", "2001:db8:0:100::1", false],
    ["2001:db8::1", "2001:db9::1", false],
  ])("%s and %s share a bucket: %s", (one, other, shared) => {
    const { take } = start(LIMIT);
    take(one, 3);
    expect(take(other)).toEqual([shared ? "drop" : "answer"]);
  });

  it.each([
    [0, ["drop", "drop", "drop", "drop"]],
    [1, ["truncate", "truncate", "truncate", "truncate"]],
    [2, ["drop", "truncate", "drop", "truncate"]],
    [3, ["drop", "drop", "truncate", "drop"]],
  ])("with slip %i queries over the limit get %j", (slip, expected) => {
    const { take } = start({ ...LIMIT, slip });
    take("192.0.2.1", 3);
    expect(take("192.0.2.1", 4)).toEqual(expected);
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.31.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd00::1",
    "fe80::1%eth0",
  ])("%s is local, and by default not limited", (address) => {
    expect(start(LIMIT).take(address, 10)).toEqual(answers(10));
    expect(start({ ...LIMIT, exempt: [] }).take(address, 4)).toEqual([...answers(3), "drop"]);
  });

  it("counts alternating addresses separately", () => {
    const { take } = start({ ...LIMIT, exempt: ["192.0.2.7"] });
    for (let turn = 0; turn < 3; turn++) {
      expect(take("192.0.2.7")).toEqual(["answer"]);
      expect(take("198.51.100.1")).toEqual(["answer"]);
    }
    expect(take("192.0.2.7")).toEqual(["answer"]);
    expect(take("198.51.100.1")).toEqual(["drop"]);
  });

  it("is off with 0", () => {
    expect(start({ answersPerSecond: 0, burst: 1 }).take("192.0.2.1", 1000)).toEqual(answers(1000));
  });
});
