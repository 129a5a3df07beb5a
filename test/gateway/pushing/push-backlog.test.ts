import { describe, expect, it } from "vitest";
import { PushBacklog } from "../../../src/gateway/pushing/push-backlog.ts";

/** A backlog in which a push may wait for 5 s. */
function open(isLive: (clusterId: string) => boolean = () => true) {
  const held = { now: 100_000 };
  const backlog = new PushBacklog({ now: () => held.now }, 5000, isLive);
  const behind = (after: number) => {
    held.now = 100_000 + after;
    return backlog.behindSince(held.now);
  };
  return { held, backlog, behind };
}

describe("a push that waits for more than 5 s", () => {
  it("makes answers stale since it arrived, until it is settled", () => {
    const { backlog, behind } = open();
    const settle = backlog.arrived("west");
    expect([behind(0), behind(5000), behind(5001)]).toEqual([undefined, undefined, 100_000]);
    settle(true);
    expect(behind(20_000)).toBeUndefined();
  });

  it("is the oldest of all that wait", () => {
    const { backlog, behind } = open();
    const west = backlog.arrived("west");
    behind(1000);
    const east = backlog.arrived("east");
    behind(2000);
    const again = backlog.arrived("west");
    expect(behind(9000)).toBe(100_000);
    west(true);
    // The cluster's other push is still to be taken.
    expect(behind(9000)).toBe(100_000);
    again(true);
    expect(behind(9000)).toBe(101_000);
    east(true);
    expect(behind(9000)).toBeUndefined();
  });

  it("counts for a minute more where the gateway could not take it, since it comes again", () => {
    const { backlog, behind } = open();
    backlog.arrived("west")(false);
    expect([behind(5001), behind(59_999), behind(60_000)]).toEqual([100_000, 100_000, undefined]);
  });

  it("does not count after that where the answers have nothing of the cluster", () => {
    const { backlog, behind } = open((clusterId) => clusterId === "east");
    backlog.arrived("west")(false);
    expect(behind(6000)).toBeUndefined();
    const settle = backlog.arrived("west");
    expect(behind(12_000)).toBe(106_000);
    settle(true);
    expect(behind(12_000)).toBeUndefined();
  });

  it("counts no more once a later one is taken", () => {
    const { backlog, behind } = open();
    backlog.arrived("west")(false);
    behind(3000);
    const settle = backlog.arrived("west");
    expect(behind(6000)).toBe(100_000);
    settle(true);
    expect(behind(6000)).toBeUndefined();
  });

  it("counts no more once another gateway has taken a request of its cluster since", () => {
    const { backlog, behind } = open();
    behind(1000);
    backlog.arrived("west")(false);
    const behindOnce = (taken: number) => {
      backlog.takenElsewhere("west", 100_000 + taken);
      return behind(7000);
    };
    backlog.takenElsewhere("east", 107_000);
    expect([behindOnce(999), behindOnce(1000)]).toEqual([101_000, undefined]);
  });

  it("that is still in progress waits, whatever another gateway takes", () => {
    const { backlog, behind } = open();
    backlog.arrived("west")(false);
    const settle = backlog.arrived("west");
    behind(6000);
    backlog.takenElsewhere("west", 106_000);
    expect(behind(6000)).toBe(100_000);
    settle(true);
    expect(behind(6000)).toBeUndefined();
  });

  it("waits since it arrived itself, not since an earlier one of its cluster that was taken", () => {
    const { backlog, held, behind } = open();
    backlog.arrived("west")(true);
    held.now += 4000;
    backlog.arrived("west");
    expect([behind(8000), behind(9001)]).toEqual([undefined, 104_000]);
  });
});
