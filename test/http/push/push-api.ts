import { Hono } from "hono";
import { type Clock, systemClock, Turns } from "../../../src/gateway/clock.ts";
import type { PushLimits } from "../../../src/http/push/bodies.ts";
import { createPushRoutes, type PushGateway } from "../../../src/http/push/pushing.ts";
import { LimitCounters } from "../../../src/limits/counters.ts";
import { authorityOf, type ClusterSecret, sha256 } from "../../access/authorities.ts";
import { DEFAULT_LIMITS } from "../../config/default-limits.ts";
import { PUSH_TOKENS, pushApi } from "../../conformance/push-client.ts";
import { memoryDatabase, openKeyed } from "../../gateway/open-keyed.ts";

const CREDENTIALS: ClusterSecret[] = PUSH_TOKENS.map(({ clusterId, token }, index) => ({
  clusterId,
  // Either case of hex is a digest.
  tokenSha256: index === 1 ? sha256(token).toUpperCase() : sha256(token),
}));

/** The push API on a gateway over an empty database; `send` has the token of the cluster "west". */
export function openPushApi(
  given: {
    limits?: Partial<PushLimits>;
    gateway?: Partial<PushGateway>;
    clock?: Clock;
    database?: ReturnType<typeof memoryDatabase>;
  } = {},
) {
  const real = openKeyed({ clock: systemClock, database: given.database ?? memoryDatabase() });
  const gateway: PushGateway = {
    turns: given.clock === undefined ? real.turns : new Turns(given.clock),
    arrived: (clusterId) => real.arrived(clusterId),
    stage: (...lines) => real.stage(...lines),
    push: (...push) => real.push(...push),
    renew: (...lease) => real.renew(...lease),
    leave: (...left) => real.leave(...left),
    totalsOf: (clusterId) => real.totalsOf(clusterId),
    everything: real.everything,
    unixTime: (at) => real.unixTime(at),
    ...given.gateway,
  };
  const errors: unknown[] = [];
  const limitCounters = new LimitCounters();
  const routes = createPushRoutes({
    gateway,
    authority: authorityOf(CREDENTIALS),
    limits: { ...DEFAULT_LIMITS, ...given.limits },
    counters: limitCounters,
    ...(given.clock !== undefined && { clock: given.clock }),
    onError: (error) => errors.push(error),
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  return { ...pushApi(app.fetch), fetch: app.fetch, errors, gateway: real, limitCounters };
}
