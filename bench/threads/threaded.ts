import type { GatewayProcess } from "../../test/e2e/harness/processes.ts";

/** A gateway with the number of its threads. */
export interface Threaded {
  readonly name: string;
  readonly threads: number;
  readonly gateway: GatewayProcess;
}
