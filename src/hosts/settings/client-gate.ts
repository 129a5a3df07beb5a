import { createClientAddress } from "../../access/client/client-address.ts";
import type { QueryCounters } from "../../answer/query-counters.ts";
import { clientRequests, type EdgeClients } from "../../config/clients.ts";
import type { Refuse } from "../../http/refusal.ts";
import { createRequestGate, type RequestGate } from "../../http/request-gate.ts";
import { ClientRate } from "../../limits/client-rate.ts";

/** What each client may ask for on hosts that see requests only; undefined where that is any number. */
export function gateOfClients(
  clients: EdgeClients,
  { counters, refuse }: { readonly counters: QueryCounters; readonly refuse: Refuse },
): RequestGate | undefined {
  if (clients.requestsPerSecond === 0) return undefined;
  return createRequestGate({
    rate: new ClientRate(clientRequests(clients)),
    clientAddress: createClientAddress(clients),
    counters: counters.limits,
    refuse,
  });
}
