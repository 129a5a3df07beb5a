import { Hono } from "hono";
import { type Clock, systemClock } from "../../../src/gateway/clock.ts";
import type { PushLimits } from "../../../src/http/push/bodies.ts";
import { createPushRoutes } from "../../../src/http/push/pushing.ts";
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
  given: { limits?: Partial<PushLimits>; clock?: Clock; database?: ReturnType<typeof memoryDatabase> } = {},
) {
  const { clock = systemClock, database = memoryDatabase() } = given;
  const gateway = openKeyed({ clock, database });
  const errors: unknown[] = [];
  const limitCounters = new LimitCounters();
  const routes = createPushRoutes({
    gateway,
    authority: authorityOf(CREDENTIALS),
    limits: { ...DEFAULT_LIMITS, ...given.limits },
    counters: limitCounters,
    clock,
    onError: (error) => errors.push(error),
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  return { ...pushApi(app.fetch), errors, gateway, limitCounters };
}

/** A body whose sender stops until the test goes on; `send` resolves when the gateway has taken the text. */
export function halfBody() {
  let wanted = Promise.withResolvers<void>();
  let next = Promise.withResolvers<string | undefined>();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        wanted.resolve();
        const text = await next.promise;
        next = Promise.withResolvers();
        if (text === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(text));
      },
      cancel: () => wanted.resolve(),
    },
    { highWaterMark: 0 },
  );
  return {
    stream,
    async send(text: string): Promise<void> {
      await wanted.promise;
      wanted = Promise.withResolvers();
      next.resolve(text);
      await wanted.promise;
    },
    end: () => next.resolve(undefined),
  };
}
