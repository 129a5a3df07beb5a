import { totalmem } from "node:os";
import type { ProcessFacts, ThreadCounts } from "../../http/metrics/process-metrics.ts";
import type { ControlCounts } from "../../http/push/desired.ts";
import { expiryOf } from "./tls/tls.ts";
import type { TlsSource } from "./tls/tls-source.ts";

/** The memory that this process may use, in bytes: the limit of its container, otherwise the memory of the machine. */
export function memoryLimit(): number {
  // Runtimes other than Node may lack it; 0 and very large numbers mean that there is no limit.
  const constrained = process.constrainedMemory?.() ?? 0;
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** The facts of this process. */
export function processFacts(
  tls: TlsSource | undefined,
  control: ControlCounts,
  threads: ThreadCounts | undefined,
): ProcessFacts {
  return {
    memoryLimitBytes: memoryLimit(),
    control,
    threads,
    certificateExpiresAt: () => tls && expiryOf(tls.tls.cert),
  };
}
