import type { Outside, OutsidePolicy } from "../../../forward/outside.ts";
import type { OutsideAnswer } from "../../../forward/outside-answer.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { DohGateway } from "../../../gateway/doh-gateway.ts";
import type { AddressAskerReader } from "../../../http/client/asker.ts";
import type { QueryCounters } from "../../../http/metrics/query-counters.ts";
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
  /** Answers names outside the zones. Undefined: as the gateway does. */
  readonly outside: Pick<Outside, "answer"> | undefined;
  /** What such names get where a listener has no policy of its own. */
  readonly policy: OutsidePolicy;
}

/** A listener, as far as its answers depend on it. */
export interface ListenerManner {
  /** The cluster that everybody who asks here asks as, which wins over the EDNS option. */
  readonly view?: string | undefined;
  /** The rule whose scope everybody who asks here has; undefined for what exists for everybody. */
  readonly rule?: string | undefined;
  /** What names outside the zones get here. */
  readonly outsideZones?: OutsidePolicy | undefined;
}

/**
 * Answers one query of plain DNS or DNS over TLS: from the gateway, or through a stub zone. Undefined for octets that are no query.
 * The octets of `query` are only lent.
 * @param clientAddress as the socket has it
 */
export type QueryHandler = (
  query: Uint8Array,
  clientAddress: string,
  listener: ListenerManner,
  transport: Transport,
) => Answer | undefined | Promise<Answer | undefined>;

export function createQueryHandler(parts: QueryHandlerParts): QueryHandler {
  const { gateway, clock, counters, asker, stubs, outside } = parts;
  return (query, clientAddress, listener, transport) => {
    const { name } = transport;
    const { view: listenerView, outsideZones: policy = parts.policy } = listener;
    // Its names are not known, and those of everybody else are not what was asked for.
    const isUnknown = listenerView !== undefined && !gateway.hasCluster(listenerView);
    const view = listenerView ?? asker.readByAddress(query, { clientAddress }).view;
    if (stubs !== undefined && stubs.size > 0 && !isUnknown) {
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
    const answer = isUnknown
      ? notReady(query, { transport })
      : gateway.answer(query, view, clock(), transport);
    if (outside !== undefined && (answer?.beyond ?? answer?.leadsTo) !== undefined) {
      const type = counters.typeOf(query);
      const own = query.slice();
      const found = outside.answer(query, answer!, policy, clientAddress);
      const conclude = ({ answer: given }: OutsideAnswer) => {
        counters.relayed(type, given.outcome, view !== undefined, name);
        return fitAnswer(own, given, transport);
      };
      return found instanceof Promise ? found.then(conclude) : conclude(found);
    }
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
