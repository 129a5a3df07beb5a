import { describe, expect, it } from "vitest";
import { foundingAt } from "../../src/database/ranks.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 21);

/** What the first day is now, of one that began then. @param hasMemory whether any cluster is known */
const dayAt = (at: number | undefined, now: number, { hasMemory = true, latest = 0 } = {}) =>
  foundingAt(at === undefined ? undefined : { at, over: false }, hasMemory, now, latest);

describe("a gateway's first day", () => {
  it("begins with the first time that a clock can have, and lasts a day", () => {
    expect(dayAt(undefined, 0, { hasMemory: false })).toEqual({ over: false });
    expect(dayAt(undefined, NOW, { hasMemory: false })).toEqual({ at: NOW, over: false });
    expect(dayAt(NOW, NOW + 23 * HOUR)).toEqual({ at: NOW, over: false });
    expect(dayAt(NOW, NOW + 25 * HOUR)).toEqual({ at: NOW, over: true });
  });

  it("does not come back where it was lost, nor with a clock that is set back", () => {
    expect(dayAt(undefined, NOW)).toMatchObject({ over: true });
    expect(dayAt(NOW, NOW + HOUR, { latest: NOW + 25 * HOUR })).toMatchObject({ over: true });
    expect(foundingAt({ at: NOW, over: true }, true, NOW, 0)).toMatchObject({ over: true });
  });

  it("has ended where it began in the future, by a wrong clock, and any cluster is known", () => {
    expect(dayAt(NOW + 1000 * HOUR, NOW)).toMatchObject({ over: true });
    expect(dayAt(NOW + 1000 * HOUR, NOW, { hasMemory: false })).toEqual({ at: NOW, over: false });
  });
});
