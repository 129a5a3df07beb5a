import { describe, expect, test } from "vitest";
import { BodyBudget } from "../../../src/http/push/body-budget.ts";

const LIMITS = { pushBytes: 100, pushBytesInFlight: 150, pushSmallBytes: 10, pushValues: 25 };

describe("a body that is rejected gives its room back before its reader has ended", () => {
  test("to the other body of its cluster (limits.pushBytes)", () => {
    const budget = new BodyBudget(LIMITS);
    const [rejected, other] = [budget.open("east"), budget.open("east")];
    other.charge(50);
    expect(() => rejected.charge(51)).toThrow("the pushes of this cluster");
    expect(() => other.charge(50)).not.toThrow();
  });

  test("to bodies of other clusters (limits.pushBytesInFlight)", () => {
    const budget = new BodyBudget(LIMITS);
    const [rejected, other] = [budget.open("east"), budget.open("west")];
    other.charge(90);
    expect(() => rejected.charge(81)).toThrow("too many pushes");
    expect(() => other.charge(10)).not.toThrow();
  });

  test("to values of other bodies", () => {
    const budget = new BodyBudget(LIMITS);
    const [rejected, other] = [budget.open("east"), budget.open("west")];
    for (const body of [rejected, other]) body.charge(20);
    other.hold(50);
    expect(() => rejected.hold(51)).toThrow("too many pushes");
    expect(() => other.hold(50)).not.toThrow();
  });

  test("once: what it releases afterwards is nothing", () => {
    const budget = new BodyBudget(LIMITS);
    const [rejected, other] = [budget.open("east"), budget.open("east")];
    other.charge(60);
    expect(() => rejected.charge(41)).toThrow();
    rejected.release();
    expect(() => other.charge(41)).toThrow("the pushes of this cluster");
  });
});
