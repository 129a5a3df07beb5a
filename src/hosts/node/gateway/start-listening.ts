import { socketAddress } from "../../../access/client/client-address.ts";
import { hidesAnything } from "../../../access/rules/access-rule.ts";
import { createViewReader } from "../../../access/view/view.ts";
import { createAnswerQuery } from "../../../answer/answer-query.ts";
import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { ListenPlace } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { Transport } from "../../../resolve/transport.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import { type AnswerMessage, createAnswerMessage } from "../listeners/answer-message.ts";
import { type Listeners, startListeners } from "../listeners/listeners.ts";
import type { Logger } from "../logger.ts";
import type { NodeAdmission } from "../node-admission.ts";
import { nodeClock } from "../node-clock.ts";
import type { OutsideHost } from "../outside-host.ts";
import type { ServerTls } from "../tls.ts";
import type { HttpSide } from "./http-side.ts";

/** What plain DNS and DNS over TLS are answered with. */
export interface ListeningParts {
  readonly config: ServeConfig;
  readonly gateway: Gateway<ZoneImage>;
  readonly admission: NodeAdmission;
  readonly http: Pick<HttpSide, "clientTests" | "accessCounters">;
  readonly counters: QueryCounters;
  readonly stubs: StubZones;
  readonly outside: OutsideHost;
  readonly tls: ServerTls | undefined;
  readonly logger: Logger;
}

/**
 * Listens for plain DNS and DNS over TLS: the clients of a listener have the access rule that it names, or the public one.
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
  const { config, gateway, admission, http, counters, stubs, outside } = parts;
  // The settings were checked: where there is no public rule, the listener has one.
  const rule = place.rule === undefined ? admission.rules.public! : admission.rules.of(place.rule);
  const within = gateway.within(rule.visibility);
  const { option, trusted } = config.sourceCluster;
  const answerQuery = createAnswerQuery({
    gateway: within,
    audience: rule.name,
    cluster: rule.visibility.view,
    views: createViewReader({ optionCode: option, trusted }, (id) => within.hasCluster(id)),
    stubs: hidesAnything(rule) ? undefined : stubs,
    outside: outside.outside,
    clientAddress: socketAddress,
    clientTests: http.clientTests,
    clock: nodeClock.now,
    counters,
  });
  const endpoint = {
    transport,
    cluster: place.view,
    outsideZones: place.outsideZones ?? config.outsideZones,
  };
  const answer = createAnswerMessage(answerQuery, endpoint, counters);
  return (query, clientAddress) => {
    http.accessCounters.admitted(rule.name);
    return answer(query, clientAddress);
  };
}
