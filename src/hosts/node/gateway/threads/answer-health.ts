import type { HttpResponse } from "../../../../http/messages/message.ts";
import { pathOf } from "../../../../http/messages/message.ts";
import { type Application, refusal } from "../../server/fetch-request.ts";
import type { ThreadSignals } from "./thread-signals.ts";

/** The time that the main thread has for its answer, in milliseconds. A probe of Kubernetes waits for a second. */
const PATIENCE = 500;
/**
 * For so long the main thread may stand still, in milliseconds. Meanwhile queries are answered from what it compiled last; an orchestrator that
 * restarts the process for a shorter stop, such as a slow disk, would end these answers.
 */
const LONGEST_SILENCE = 60_000;

/** What health checks in a thread ask. */
export interface ThreadHealth {
  /** Answers requests in this thread. */
  readonly here: Application;
  readonly signals: Pick<ThreadSignals, "isStarted" | "isFresh" | "silence">;
  /** Whether this thread answers queries. */
  readonly isReady: () => boolean;
  /** The gateway's clock. */
  readonly clock: () => number;
}

/**
 * Answers health checks in this thread, and hands over all other requests. Queries are answered while the main thread is busy or stands still, so no
 * probe may fail for that.
 *
 * - `/healthz` is answered here once all threads listen.
 * - `/readyz` is handed over, since the main thread knows more, and answered here without details if that one does not answer in time.
 */
export function answerHealth(
  { here, signals, isReady, clock }: ThreadHealth,
  handOver: Application,
): Application {
  const readiness = () => (isReady() ? respond(200, "ready") : respond(503, "not ready"));
  return async (request) => {
    const path = pathOf(request.url);
    const isHealth = path === "/healthz" || path === "/readyz";
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isHealth || !isRead || !signals.isStarted) return handOver(request);
    if (path === "/healthz") {
      const silence = signals.silence(clock());
      if (silence <= LONGEST_SILENCE) return here(request);
      return respond(503, `the thread that takes changes has not run for ${Math.round(silence / 1000)} s`);
    }
    if (!signals.isFresh(clock())) return readiness();
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), PATIENCE);
    const answered = await Promise.race([handOver(request), late.promise]);
    clearTimeout(timer);
    return answered ?? readiness();
  };
}

function respond(status: number, line: string): HttpResponse {
  return refusal(status, line, { "content-type": "text/plain; charset=utf-8" });
}
