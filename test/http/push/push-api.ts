import { createHash } from "node:crypto";
import { Hono } from "hono";
import { type Clock, systemClock } from "../../../src/gateway/clock.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { Turns } from "../../../src/gateway/turns.ts";
import type { PushLimits } from "../../../src/http/push/push-limits.ts";
import { createPushRoutes, type PushGateway } from "../../../src/http/push/push-routes.ts";
import { LimitCounters } from "../../../src/limits/limit-counters.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { authorityOf, type ClusterSecret } from "../../access/authorities.ts";
import { PUSH_TOKENS, pushApi } from "../../conformance/push-client.ts";
import { realStages } from "../../gateway/real-stages.ts";

/** The digest that a credential holds of a token. */
export const sha256 = (token: string) => createHash("sha256").update(token).digest("hex");
const CREDENTIALS: ClusterSecret[] = PUSH_TOKENS.map(({ clusterId, token }, index) => ({
  clusterId,
  // Either case of hex is a digest.
  tokenSha256: index === 1 ? sha256(token).toUpperCase() : sha256(token),
}));

/** The push API on a real gateway with real stages; `send` has the token of the cluster "west". */
export async function openPushApi(
  given: { limits?: Partial<PushLimits>; gateway?: Partial<PushGateway>; clock?: Clock } = {},
) {
  const real = await Gateway.open({
    store: createMemoryStore(),
    stages: realStages(),
    clock: systemClock,
    onEvent: () => {},
  });
  const gateway: PushGateway = {
    turns: given.clock === undefined ? real.turns : new Turns(given.clock),
    arrived: (clusterId) => real.arrived(clusterId),
    replace: (...push) => real.replace(...push),
    held: (...cluster) => real.held(...cluster),
    change: (...push) => real.change(...push),
    renew: (...push) => real.renew(...push),
    leave: (...left) => real.leave(...left),
    count: (clusterId) => real.count(clusterId),
    status: () => real.status(),
    unixTime: (at) => real.unixTime(at),
    ...given.gateway,
  };
  const errors: unknown[] = [];
  const limitCounters = new LimitCounters();
  const routes = createPushRoutes({
    gateway,
    authority: authorityOf(CREDENTIALS),
    limits: given.limits ?? {},
    counters: limitCounters,
    ...(given.clock !== undefined && { clock: given.clock }),
    onError: (error) => errors.push(error),
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  return { ...pushApi(app.fetch), fetch: app.fetch, errors, gateway: real, limitCounters };
}
