import { type GatewayProcess, startGateway } from "../../test/e2e/harness/processes.ts";
import { LONG_LEASES, preparePush } from "../push.ts";
import type { Progress } from "../report/report.ts";
import { type WideWorld, wideClusterIds, wideEndpoints, wideSnapshots } from "../worlds/wide-world.ts";

/** Clusters that push at the same time. */
const PUSHING = 4;

/** Starts a gateway for the clusters of a world, and of others. @param more further options */
export function startWideGateway(
  world: WideWorld,
  more: Parameters<typeof startGateway>[0] & {} = {},
): Promise<GatewayProcess> {
  const clusters = [...wideClusterIds(world), ...(more.clusters ?? [])];
  return startGateway({ ...more, clusters, config: { ...LONG_LEASES, ...more.config } });
}

/**
 * Every cluster of a world pushes its full snapshot, a few at a time.
 * @returns milliseconds until all are acknowledged, without encoding
 */
export async function pushWideWorld(
  gateway: GatewayProcess,
  world: WideWorld,
  progress: Progress,
): Promise<number> {
  const pushes: (() => Promise<void>)[] = [];
  for (const snapshot of wideSnapshots(world)) pushes.push(preparePush(gateway, snapshot));
  const begun = performance.now();
  let acknowledged = 0;
  const worker = async () => {
    for (let push = pushes.shift(); push !== undefined; push = pushes.shift()) {
      await push();
      acknowledged++;
      if (acknowledged % 10 === 0 || pushes.length === 0)
        progress(
          `${wideEndpoints(world).toLocaleString("en")} endpoints: ${acknowledged} of ${world.clusters} clusters acknowledged after ${Math.round((performance.now() - begun) / 1000)} s`,
        );
    }
  };
  await Promise.all(Array.from({ length: PUSHING }, worker));
  return performance.now() - begun;
}
