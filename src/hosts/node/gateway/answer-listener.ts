import { socketAddress } from "../../../access/client.ts";
import { type AccessRules, hidesAnything } from "../../../access/rule.ts";
import { createViewReader } from "../../../access/view.ts";
import { createAnswerQuery } from "../../../answer/answer-query.ts";
import type { QueryCounters } from "../../../answer/query-counters.ts";
import type { Assembly } from "../../../assembly/assemble.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import type { Clock } from "../../../gateway/clock.ts";
import type { AccessCounters } from "../../../http/metrics/prometheus.ts";
import { createAnswerMessage } from "../listeners/answer-message.ts";
import type { ListenerParts } from "../listeners/listeners.ts";

/** The parts that listeners for plain DNS and DNS over TLS need for answers. */
export interface ListenerAnswerParts {
  readonly config: Pick<ServeConfig, "sourceCluster" | "outsideZones">;
  readonly assembly: Pick<Assembly, "gatewayOf" | "outOfZone">;
  readonly rules: AccessRules;
  readonly stubs: StubZones;
  readonly counters: QueryCounters;
  readonly accessCounters: AccessCounters;
  readonly clock: Clock;
}

/** Answers queries of listeners: their clients have the access rule that the listener names, or the public one. */
export function createListenerAnswers(parts: ListenerAnswerParts): ListenerParts["answerAt"] {
  const { config, assembly, rules, stubs, counters, accessCounters, clock } = parts;
  const { option, trusted } = config.sourceCluster;
  return (place, transport) => {
    // The settings were checked: without a public rule, the listener names a rule.
    const rule = place.rule === undefined ? rules.public! : rules.of(place.rule);
    const gateway = assembly.gatewayOf(rule);
    const answerQuery = createAnswerQuery({
      ...{ gateway, counters, rule: rule.name },
      cluster: rule.visibility.view,
      views: createViewReader({ optionCode: option, trusted }, (id) => gateway.hasCluster(id)),
      stubs: hidesAnything(rule) ? undefined : stubs,
      outside: assembly.outOfZone.outside,
      clientAddress: socketAddress,
      clock: clock.now,
    });
    const endpoint = {
      transport,
      cluster: place.view,
      outsideZones: place.outsideZones ?? config.outsideZones,
    };
    const answer = createAnswerMessage(answerQuery, endpoint, counters);
    return (query, clientAddress) => {
      accessCounters.admitted(rule.name);
      return answer(query, clientAddress);
    };
  };
}
