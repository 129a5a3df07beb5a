import { assemble } from "../../assembly/assemble.ts";
import { createEdgeAccess } from "../../assembly/edge-access.ts";
import { type Log, logJson } from "../../assembly/log.ts";
import { fetchUpstreams } from "../../assembly/out-of-zone.ts";
import { sendOverHttp } from "../../assembly/push-forward.ts";
import { type Clock, waitingClock } from "../../gateway/clock.ts";
import type { App } from "../../http/app.ts";
import { createOpenApi } from "../../http/openapi/open-api.ts";
import { HttpTransferSource } from "../../transfer/http-source.ts";
import { TransferCounters } from "../../transfer/transfer-events.ts";
import type { SecondarySettings } from "./settings.ts";

/** Bytes of parts in memory: a function of AWS has 128 MB at least. */
const PART_BYTES = 32 * 1024 * 1024;

/**
 * Puts a secondary together that reaches its primary over HTTP and stores nothing.
 * @param clock default: the wall clock, which also advances while a function is frozen
 */
export async function createSecondaryHost(
  { config, credentials, primaryUrl, transferToken, transferKeys }: SecondarySettings,
  version: string,
  log: Log = logJson,
  clock: Clock = waitingClock,
): Promise<App> {
  const { access, clusterTokens, clusterIds } = createEdgeAccess(config, credentials, log);
  const counters = new TransferCounters();
  const { app } = await assemble(config, {
    ...{ version, log, access, clusterTokens, clusterIds, clock },
    ...{ upstreams: fetchUpstreams(config.forward), openApi: createOpenApi(version) },
    generations: {
      sourceOf: (scope) =>
        new HttpTransferSource({
          ...{ gateway: primaryUrl, token: transferToken, scope, clock: clock.now, counters },
          ...(transferKeys && { keys: transferKeys }),
        }),
      counters,
      partBytes: PART_BYTES,
      pushes: {
        send: sendOverHttp({ primaryUrl, sentBytes: config.limits.pushSentBytes }),
        unreachable: {
          ...{ status: 502, code: "PRIMARY_UNREACHABLE" },
          message: "the primary did not answer this push",
        },
      },
    },
  });
  return app;
}
