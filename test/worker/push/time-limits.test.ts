import { expect, test } from "vitest";
import { requestLimit, silenceLimit } from "../../../src/worker/gateway-requests.ts";

test.each([
  [20, 100, 6_666],
  [60, 10_000_000, 60_000],
])(
  "a request under a lease of %i seconds, with %i bytes, counts as lost after %i ms",
  (lease, bytes, limit) => {
    expect(requestLimit(lease, bytes)).toBe(limit);
  },
);

test.each([30, 60, 120])("a lease of %i seconds outlives a lost renewal and a second attempt", (lease) => {
  expect((lease * 1000) / 3 + 2 * requestLimit(lease, 100)).toBeLessThanOrEqual(lease * 1000);
});

test("a silent stream counts as lost before leases that were renewed with its last line expire", () => {
  for (const lease of [15, 30, 60, 120]) expect(silenceLimit(lease)).toBeLessThan((lease * 1000 * 2) / 3);
});
