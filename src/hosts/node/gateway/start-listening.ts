import { EVERYBODY } from "../../../access/asking/admission.ts";
import type { Audience } from "../../../access/asking/audience.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { StubZones } from "../../../forward/stub-zones.ts";
import { hidesAnything } from "../../../http/access/site.ts";
import { createAskerReader } from "../../../http/client/asker.ts";
import type { QueryCounters } from "../../../http/metrics/query-counters.ts";
import { type Listeners, startListeners } from "../listeners/listeners.ts";
import { createQueryHandler, type QueryHandler } from "../listeners/query-handler.ts";
import type { Logger } from "../logger.ts";
import type { NodeAsking } from "../node-asking.ts";
import type { OutsideHost } from "../outside-host.ts";
import type { ServerTls } from "../tls.ts";
import type { HttpSide } from "./http-side.ts";

/** What plain DNS and DNS over TLS are answered with. */
export interface ListeningParts {
  readonly config: ServeConfig;
  readonly asking: NodeAsking;
  readonly http: Pick<HttpSide, "watch" | "counted">;
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
  const { config, asking, http, counters, tls, logger } = parts;
  const handlers = new Map<Audience, QueryHandler>();
  const handlerOf = (audience: Audience): QueryHandler => {
    const handler = handlers.get(audience) ?? createHandler(parts, audience);
    handlers.set(audience, handler);
    return handler;
  };
  return startListeners({
    config,
    handle: (query, clientAddress, listener, transport) => {
      const { rule } = listener;
      // The settings were checked: where everybody has no audience, there is a rule.
      const audience = rule === undefined ? asking.audiences.everybody! : asking.audiences.ofRule(rule);
      http.counted?.admitted(rule ?? EVERYBODY);
      return handlerOf(audience)(query, clientAddress, listener, transport);
    },
    ...{ counters, tls, logger },
  });
}

function createHandler(
  { config, http, counters, stubs, outside }: ListeningParts,
  audience: Audience,
): QueryHandler {
  const { scope } = audience;
  const answer = createQueryHandler({
    gateway: http.watch(audience),
    clock: Date.now,
    counters,
    asker: createAskerReader({
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
    }),
    stubs: hidesAnything(scope) ? undefined : stubs,
    outside: outside.outside,
    policy: config.outsideZones,
  });
  const { view } = scope;
  if (view === undefined) return answer;
  return (query, clientAddress, listener, transport) =>
    answer(query, clientAddress, { ...listener, view }, transport);
}
