import type { Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import type { SharedWorld } from "./shared-world.ts";

/** Changes before the first that counts, until V8 has compiled what they run. */
const WARM_UP = 30;
/** How much later than at the gateway that took it a change may be at another one. */
const GOAL = 2;
const TOOK = "the gateway that took the push";
const OTHER = "the other one";

/** From a push to the changed answer of each gateway; both take pushes in turn. */
export async function measureReach(
  { pollers, changing }: SharedWorld,
  held: string,
  changes: number,
  progress: Progress,
): Promise<Table> {
  const samples = new Samples();
  for (let change = 1 - WARM_UP; change <= changes; change++) {
    if (change > 0 && change % 10 === 0) progress(`change ${change} of ${changes}`);
    const taker = Math.abs(change) % 2;
    const cluster = changing[taker]!;
    const begun = performance.now();
    const { address, acknowledged } = cluster.change();
    const [took, other, done] = await Promise.all([
      pollers[taker]!.waitForAddress(cluster.query, address),
      pollers[1 - taker]!.waitForAddress(cluster.query, address),
      acknowledged.then(() => performance.now()),
    ]);
    if (change <= 0) continue;
    samples.add(TOOK, "ms", took - begun);
    samples.add(OTHER, "ms", other - begun);
    samples.add("for comparison: the acknowledgement", "ms", done - begun);
  }
  return {
    title: `From a push to the changed answer of two gateways with one engine: ${held}`,
    rows: samples.rows,
    baselines: [TOOK],
    goals: [{ row: OTHER, dividedBy: TOOK, atMost: GOAL }],
    ofMedians: true,
    notes: [
      `${changes} changes of one endpoint, after ${WARM_UP} that do not count. The gateways take them in turn. Both are queried over DoH every millisecond or two. The engine has each write on disk before it replies.`,
    ],
  };
}
