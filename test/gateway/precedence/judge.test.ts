import { describe, expect, it } from "vitest";
import { FOUNDING, Founding } from "../../../src/gateway/remembered/founding.ts";
import {
  CLOCK_TOLERANCE,
  FIRST_SERVICE_EXPORT,
  judge,
  whyAdjusted,
} from "../../../src/gateway/remembered/judge.ts";

const NOW = Date.UTC(2026, 5, 1);
const text = (time: number) => new Date(time).toISOString();
const NEVER = Number.NEGATIVE_INFINITY;

describe("the time from which an export counts that appears now (SECURITY.md, Creation times)", () => {
  it.each<[string, number, number, number]>([
    ["its reported time, where it could have appeared then", NOW - 1000, NEVER, NOW - 1000],
    [
      "its reported time, of the first day on which there was one",
      FIRST_SERVICE_EXPORT,
      NEVER,
      FIRST_SERVICE_EXPORT,
    ],
    ["now, where it reports a time before that", FIRST_SERVICE_EXPORT - 1, NEVER, NOW],
    ["now, where it reports that a clock is a little ahead", NOW + CLOCK_TOLERANCE, NEVER, NOW],
    ["now, where it reports a time of the future", NOW + CLOCK_TOLERANCE + 1, NEVER, NOW],
    ["its reported time, at the time from which it was not seen", NOW - 1000, NOW - 1000, NOW - 1000],
    ["now, where it would have been seen before", NOW - 1001, NOW - 1000, NOW],
  ])("%s", (_, reported, notBefore, expected) => {
    expect(judge(text(reported), { instant: NOW, notBefore })).toBe(expected);
  });

  it("is now, where it reports no time", () => {
    expect(judge("soon", { instant: NOW, notBefore: NEVER })).toBe(NOW);
  });
});

describe("why a reported time does not count", () => {
  it.each([
    [FIRST_SERVICE_EXPORT - 1, "impossible"],
    [FIRST_SERVICE_EXPORT, "unseen"],
    [NOW - CLOCK_TOLERANCE - 1, "unseen"],
    [NOW - CLOCK_TOLERANCE, undefined],
    [NOW + CLOCK_TOLERANCE, undefined],
    [NOW + CLOCK_TOLERANCE + 1, "future"],
  ])("%d: %s", (reported, expected) => {
    expect(whyAdjusted(text(reported), NOW)).toBe(expected);
  });
});

describe("the first day of a gateway", () => {
  it("begins with the first plausible time, and that is kept", () => {
    const day = Founding.begin();
    expect([day.pass(FIRST_SERVICE_EXPORT - 1, 0), day.at, day.isOn]).toEqual([false, undefined, true]);
    expect(day.contradicts(0)).toBe(false);
    expect([day.pass(FIRST_SERVICE_EXPORT, 0), day.at, day.isOn]).toEqual([true, FIRST_SERVICE_EXPORT, true]);
    expect(day.toRecord()).toEqual({ at: FIRST_SERVICE_EXPORT, over: false });
  });

  it.each<[string, number, number, boolean]>([
    ["goes on for a day", NOW + FOUNDING, NOW, true],
    ["ends after a day", NOW + FOUNDING + 1, NOW, false],
    ["ends after a day that is remembered, though the clock goes back", NOW, NOW + FOUNDING + 1, false],
    ["goes on while the clock is set back a little", NOW - CLOCK_TOLERANCE, NOW, true],
    [
      "ends where the clock is set back by more: it was wrong then, or is now",
      NOW - CLOCK_TOLERANCE - 1,
      NOW,
      false,
    ],
  ])("%s", (_, now, latest, isOn) => {
    const day = Founding.read({ at: NOW, over: false })!;
    expect(day.contradicts(now)).toBe(now < NOW - CLOCK_TOLERANCE);
    expect(day.pass(now, latest)).toBe(!isOn);
    expect(day.isOn).toBe(isOn);
    // Once it has ended it never comes back.
    expect([day.pass(NOW, NOW), day.isOn, day.toRecord()]).toEqual([false, isOn, { at: NOW, over: !isOn }]);
  });

  it("that is over contradicts no time", () => {
    const day = Founding.over();
    expect([day.isOn, day.contradicts(-CLOCK_TOLERANCE - 1), day.pass(NOW, NOW)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(day.toRecord()).toEqual({ at: 0, over: true });
    expect(Founding.begin().toRecord()).toEqual({ at: 0, over: false });
  });

  it.each([undefined, null, {}, { at: "1", over: true }, { at: 1, over: true, more: 1 }])(
    "%j is no record of one",
    (value) => {
      expect(Founding.read(value)).toBeUndefined();
    },
  );
});
