import { counted, duration } from "../../../http/pages/page.ts";
import { describeDegradation } from "../../../snapshot/report/degradation.ts";
import type { WorkerStatus } from "../../../sync/health/worker-status.ts";

/** Whether a gateway answers for the worker's cluster. One of several is enough: they do not depend on each other. */
export function isReady({ gateways }: WorkerStatus): boolean {
  return gateways.some(({ leaseSeconds = 0 }) => leaseSeconds > 0);
}

/** `ready: 1 of 2 gateways answer for this cluster; https://b.example: no lease; API server unreachable for 4 min`. */
export function describeReadiness(status: WorkerStatus): string {
  const { complete, degraded, gateways } = status;
  const lacking = gateways.filter(({ leaseSeconds = 0 }) => leaseSeconds <= 0);
  const leased = gateways.length - lacking.length;
  return [
    `${isReady(status) ? "ready" : "not ready"}: ${leased} of ${counted(gateways.length, "gateway")} ${gateways.length === 1 ? "answers" : "answer"} for this cluster`,
    ...(complete ? [] : ["the cluster is not read yet"]),
    ...lacking.map(
      ({ gateway, failure }) => `${gateway}: no lease${failure === undefined ? "" : ` (${failure})`}`,
    ),
    ...degraded.map((one) => `${describeDegradation(one)} for ${duration(one.seconds * 1000)}`),
  ].join("; ");
}
