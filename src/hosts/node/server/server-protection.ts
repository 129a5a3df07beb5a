import type { ClientNetworks } from "../../../limits/client-networks.ts";
import type { ClientRate } from "../../../limits/client-rate.ts";
import type { ConnectionErrors } from "../../../limits/connection-errors.ts";
import type { LimitCounters } from "../../../limits/limit-counters.ts";
import type { RequestsInFlight } from "../../../limits/load.ts";

/** How many connections each client may have. */
export interface ClientConnections {
  readonly networks: ClientNetworks;
  /** At the same time; 0 for any number. */
  readonly connections: number;
  /** New ones. */
  readonly rate: ClientRate;
}

/** What a server counts by, beside its own limits. */
export interface ServerProtection {
  readonly counters: LimitCounters;
  readonly errors: ConnectionErrors;
  readonly requests: RequestsInFlight;
  /** Undefined: clients are not told apart. */
  readonly clients: ClientConnections | undefined;
}
