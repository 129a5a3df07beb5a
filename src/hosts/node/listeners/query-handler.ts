import type { StubZones } from "../../../forward/stub-zones.ts";
import type { DohGateway } from "../../../gateway/doh-gateway.ts";
import type { AddressAskerReader } from "../../../http/asker.ts";
import type { QueryCounters } from "../../../http/query-counters.ts";
import type { Answer } from "../../../resolve/answer.ts";
import { notReady } from "../../../resolve/faults.ts";
import type { Transport } from "../../../resolve/transport.ts";
import { fitAnswer } from "../../../resolve/truncate.ts";

/** What answering works with. */
export interface QueryHandlerParts {
  readonly gateway: Pick<DohGateway, "answer" | "hasCluster">;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly counters: QueryCounters;
  readonly asker: Pick<AddressAskerReader, "readByAddress">;
  readonly stubs: Pick<StubZones, "size" | "forward"> | undefined;
}

/**
 * Answers one query of plain DNS or DNS over TLS: from the gateway, or through a stub zone. Undefined for octets that are no query.
 * The octets of `query` are only lent.
 * @param clientAddress as the socket has it
 * @param view the cluster that everybody who asks at this listener asks as, which wins over the EDNS option
 */
export type QueryHandler = (
  query: Uint8Array,
  clientAddress: string,
  view: string | undefined,
  transport: Transport,
) => Answer | undefined | Promise<Answer | undefined>;

export function createQueryHandler(parts: QueryHandlerParts): QueryHandler {
  const { gateway, clock, counters, asker, stubs } = parts;
  return (query, clientAddress, listenerView, transport) => {
    const { name } = transport;
    if (listenerView !== undefined && !gateway.hasCluster(listenerView)) {
      // Its names are not known, and those of everybody else are not what was asked for.
      const answer = notReady(query, { transport });
      if (answer === undefined) counters.malformed(name);
      else counters.answered(query, answer.outcome, true, 0, name);
      return answer;
    }
    const view = listenerView ?? asker.readByAddress(query, { clientAddress }).view;
    if (stubs !== undefined && stubs.size > 0) {
      const forwarded = stubs.forward(query, view);
      if (forwarded !== undefined) {
        const own = query.slice();
        return forwarded.then(({ answer, outcome }) => {
          counters.forwarded(counters.typeOf(own), outcome, answer.outcome, view !== undefined, name);
          return fitAnswer(own, answer, transport);
        });
      }
    }
    const started = performance.now();
    const answer = gateway.answer(query, view, clock(), transport);
    if (answer === undefined) counters.malformed(name);
    else
      counters.answered(
        query,
        answer.outcome,
        view !== undefined,
        (performance.now() - started) / 1000,
        name,
      );
    return answer;
  };
}
