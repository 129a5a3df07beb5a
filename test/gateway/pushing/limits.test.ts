import { describe, expect, it } from "vitest";
import {
  checkBounds,
  checkCharacters,
  DEFAULT_GATEWAY_LIMITS,
  leaseMilliseconds,
} from "../../../src/gateway/pushing/limits.ts";
import type { SnapshotBounds, SnapshotTotals } from "../../../src/gateway/pushing/snapshot-bounds.ts";

const KEYS = [
  "namespaces",
  "exports",
  "imports",
  "services",
  "pods",
  "endpoints",
  "ports",
  "findings",
  "metadataCharacters",
] as const;
const bounds = (value: number) =>
  Object.fromEntries(KEYS.map((key) => [key, value])) as unknown as SnapshotBounds;

describe("a snapshot within its bounds", () => {
  it.each([
    ["namespaces", "TOO_MANY_NAMESPACES", "namespaces"],
    ["exports", "TOO_MANY_EXPORTS", "exports"],
    ["imports", "TOO_MANY_IMPORTS", "imports"],
    ["services", "TOO_MANY_SERVICES", "services"],
    ["pods", "TOO_MANY_PODS", "pods"],
    ["endpoints", "TOO_MANY_ENDPOINTS", "endpoints"],
    ["ports", "TOO_MANY_PORTS", "ports of services and endpoints"],
    ["findings", "TOO_MANY_FINDINGS", "findings"],
    ["metadataCharacters", "METADATA_TOO_LARGE", "characters of exported labels and annotations"],
  ])("has at most so many %s; one more is %s", (key, code, what) => {
    expect(() => checkBounds(bounds(7), bounds(7))).not.toThrow();
    expect(() => checkBounds(bounds(7), { ...bounds(7), [key]: 8 })).toThrow(
      expect.objectContaining({
        code,
        message: `the snapshot has 8 ${what}; the most is 7 (limits.${key})`,
      }),
    );
  });

  it("has at most so many characters as JSON, with what is not an entry", () => {
    const limits = { ...DEFAULT_GATEWAY_LIMITS, snapshotCharacters: 20 };
    const totals = { characters: 11 } as SnapshotTotals;
    expect(() => checkCharacters(limits, { a: 1234 }, { ...totals, characters: 10 })).not.toThrow();
    expect(() => checkCharacters(limits, { a: 1234 }, totals)).toThrow(
      expect.objectContaining({
        code: "SNAPSHOT_TOO_LARGE",
        message:
          "with this delta the snapshot would have 21 characters; the most is 20 (limits.snapshotCharacters)",
      }),
    );
  });
});

describe("the length of a lease", () => {
  const limits = {
    ...DEFAULT_GATEWAY_LIMITS,
    lease: { minimumSeconds: 5, defaultSeconds: 60, maximumSeconds: 100 },
  };
  it.each([
    [undefined, 60_000],
    [5, 5000],
    [100, 100_000],
    [7.0006, 7001],
  ])("of %s s is %i ms", (seconds, milliseconds) => {
    expect(leaseMilliseconds(limits, seconds)).toBe(milliseconds);
  });

  it.each([0, 4.999, 100.001, Number.NaN])("of %d s is out of range", (seconds) => {
    expect(() => leaseMilliseconds(limits, seconds)).toThrow(
      expect.objectContaining({
        code: "LEASE_OUT_OF_RANGE",
        message: `a lease has 5 to 100 seconds, not ${seconds}`,
      }),
    );
  });
});
