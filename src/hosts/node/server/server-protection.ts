import type { ClientRate } from "../../../limits/client-rate.ts";
import type { ClientNetworks, SharedClientCounts } from "../../../limits/client-table.ts";
import type { ConnectionErrors, LimitCounters } from "../../../limits/counters.ts";
import type { RequestsInFlight } from "../../../limits/load.ts";
import type { Count } from "../../../limits/shared.ts";

/** The limits on the connections of each client. */
export interface ClientConnections {
  readonly networks: ClientNetworks;
  /** Open connections; 0 for any number. */
  readonly connections: number;
  /** Those that are open, in all threads. */
  readonly open: SharedClientCounts;
  /** New connections. */
  readonly rate: ClientRate;
}

/** The counters and limits that a server shares with others, and with those of other threads. */
export interface ServerProtection {
  readonly counters: LimitCounters;
  readonly errors: ConnectionErrors;
  readonly requests: RequestsInFlight;
  /** The open connections. */
  readonly connections: Count;
  /** Those that were closed for others, and whose clients have not closed them yet. */
  readonly leaving: Count;
  /** Undefined: no limits per client. */
  readonly clients: ClientConnections | undefined;
}
