import { expect, it } from "vitest";
import type { Degradation } from "../../src/snapshot/report.ts";
import { openPair } from "./pair.ts";

const UNREACHABLE: Degradation = { reason: "API_UNREACHABLE", seconds: 30 };

it("a secondary takes over what a worker reports, and its end as well", async () => {
  const { clock, gateway, secondary, done, push, ask } = await openPair();
  await push("west", 1);
  const { generation } = gateway.everything.status().clusters[0]!;
  await done(gateway.renew("west", generation, { leaseSeconds: 60, report: { degraded: [UNREACHABLE] } }));
  await ask();
  const degradedOf = () => secondary.status().clusters[0]!.degraded;
  expect(degradedOf()).toEqual(gateway.everything.status().clusters[0]!.degraded);
  expect(degradedOf()).toHaveLength(1);
  await done(gateway.renew("west", generation));
  // The first query after a while fetches the state for the next one.
  for (let query = 0; query < 2; query++) {
    await clock.advance(2000);
    await ask();
  }
  expect(degradedOf()).toBeUndefined();
});
