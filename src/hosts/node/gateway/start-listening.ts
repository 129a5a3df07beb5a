import { EVERYBODY } from "../../../access/asking/admission.ts";
import { socketAddress } from "../../../access/client/client-address.ts";
import { createViewReader } from "../../../access/view/view.ts";
import { createAnswerQuery } from "../../../answer/answer-query.ts";
import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { ListenPlace } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import { hidesAnything } from "../../../http/access/site.ts";
import type { Transport } from "../../../resolve/transport.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import { type AnswerMessage, createAnswerMessage } from "../listeners/answer-message.ts";
import { type Listeners, startListeners } from "../listeners/listeners.ts";
import type { Logger } from "../logger.ts";
import type { NodeAsking } from "../node-asking.ts";
import type { OutsideHost } from "../outside-host.ts";
import type { ServerTls } from "../tls.ts";
import type { HttpSide } from "./http-side.ts";

/** What plain DNS and DNS over TLS are answered with. */
export interface ListeningParts {
  readonly config: ServeConfig;
  readonly gateway: Gateway<ZoneImage>;
  readonly asking: NodeAsking;
  readonly http: Pick<HttpSide, "clientTests" | "counted">;
  readonly counters: QueryCounters;
  readonly stubs: StubZones;
  readonly outside: OutsideHost;
  readonly tls: ServerTls | undefined;
  readonly logger: Logger;
}

/**
 * Listens for plain DNS and DNS over TLS: what exists for who asks at a listener is what its rule says, or what exists for everybody.
 * @throws {UsageError} where a place cannot be listened on
 */
export function startListening(parts: ListeningParts): Promise<Listeners> {
  const { config, counters, tls, logger } = parts;
  return startListeners({
    config,
    answerAt: (place, transport) => answerAt(parts, place, transport),
    ...{ counters, tls, logger },
  });
}

function answerAt(parts: ListeningParts, place: ListenPlace, transport: Transport): AnswerMessage {
  const { config, gateway, asking, http, counters, stubs, outside } = parts;
  const { rule } = place;
  // The settings were checked: where everybody has no audience, there is a rule.
  const { scope } = rule === undefined ? asking.audiences.everybody! : asking.audiences.ofRule(rule);
  const within = gateway.within(scope);
  const { option, trusted } = config.sourceCluster;
  const answerQuery = createAnswerQuery({
    gateway: within,
    cluster: scope.view,
    views: createViewReader({ optionCode: option, trusted }, (id) => within.hasCluster(id)),
    stubs: hidesAnything(scope) ? undefined : stubs,
    outside: outside.outside,
    clientAddress: socketAddress,
    clientTests: http.clientTests,
    clock: Date.now,
    counters,
  });
  const endpoint = {
    transport,
    cluster: place.view,
    outsideZones: place.outsideZones ?? config.outsideZones,
  };
  const answer = createAnswerMessage(answerQuery, endpoint, counters);
  return (query, clientAddress) => {
    http.counted?.admitted(rule ?? EVERYBODY);
    return answer(query, clientAddress);
  };
}
