import fc from "fast-check";
import { expect, it } from "vitest";
import {
  DEGRADATION_REASONS,
  Degradations,
  degradationKey,
  describeDegradation,
  MOST_DEGRADATIONS,
  toSubject,
} from "../../src/snapshot/report/degradation.ts";
import { WRONG_REPORTS } from "./wrong-reports.ts";

it("a report of all reasons that this version knows is valid", () => {
  const report = Array.from(DEGRADATION_REASONS.keys(), (reason) => ({ reason, seconds: 0 }));
  expect(report.length).toBeLessThanOrEqual(MOST_DEGRADATIONS);
  expect(Degradations.parse(report)).toEqual(report);
});

it.each(Object.entries(WRONG_REPORTS))("a report with %s is invalid", (_, report) => {
  expect(Degradations.safeParse(report).success).toBe(false);
});

it("any text becomes a valid subject, or none", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const subject = toSubject(text);
      const report = [{ reason: "MANIFEST_BROKEN", seconds: 0, ...(subject !== undefined && { subject }) }];
      expect(Degradations.safeParse(report).success).toBe(true);
      expect(subject === undefined).toBe(text === "");
    }),
  );
});

it("a subject keeps its end, which tells files apart", () => {
  expect(toSubject(`${"folder/".repeat(50)}größe.yaml`)).toMatch(/folder\/gr__e\.yaml$/);
});

it.each([
  [{ reason: "API_UNREACHABLE" }, "API server unreachable"],
  [{ reason: "RBAC_FORBIDDEN", subject: "services" }, "a right is missing (services)"],
  [{ reason: "MANIFEST_BROKEN", subject: "web.yaml", count: 3 }, "manifest broken (web.yaml and 2 more)"],
  [{ reason: "NEW_REASON" }, "NEW_REASON"],
])("%o is in words: %s", (degradation, words) => {
  expect(describeDegradation(degradation)).toBe(words);
});

it("the key of a report changes with reasons, subjects and counts, and not with their order", () => {
  const [one, other] = [{ reason: "A" }, { reason: "B", subject: "web.yaml", count: 2 }];
  expect(degradationKey([one, other])).toBe(degradationKey([other, { ...one, count: 1 }]));
  for (const changed of [[one], [one, { ...other, count: 3 }], [one, { ...other, subject: "db.yaml" }]])
    expect(degradationKey(changed)).not.toBe(degradationKey([one, other]));
});
