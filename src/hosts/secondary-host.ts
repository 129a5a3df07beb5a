import { assemble } from "../assembly/assemble.ts";
import { createEdgeAccess } from "../assembly/credentials.ts";
import { type Log, logJson } from "../assembly/log.ts";
import { fetchUpstreams } from "../assembly/out-of-zone.ts";
import { sendOverHttp } from "../assembly/push-forward.ts";
import type { PushCredential } from "../config/access.ts";
import { readEdgeConfig, readPushCredentials } from "../config/edge-config.ts";
import { checkLocationFromHeaders } from "../config/location.ts";
import type { EdgeConfig } from "../config/settings.ts";
import { UsageError } from "../config/values.ts";
import { type Clock, waitingClock } from "../gateway/clock.ts";
import type { App } from "../http/app.ts";
import { HttpTransferSource } from "../transfer/http-source.ts";
import { LEAST_KEY_CHARACTERS, TransferKeys } from "../transfer/signature.ts";
import { TransferCounters } from "../transfer/transfer-state.ts";

/** Bytes of parts in memory: a function of AWS has 128 MB at least. */
const PART_BYTES = 32 * 1024 * 1024;

/**
 * Puts a secondary together that reaches its primary over HTTP and stores nothing.
 * @param clock default: the wall clock, which also advances while a function is frozen
 */
export async function createSecondaryHost(
  { config, credentials, primaryUrl, transferToken, transferKeys }: SecondarySettings,
  log: Log = logJson,
  clock: Clock = waitingClock,
): Promise<App> {
  const counters = new TransferCounters();
  const { app } = await assemble(config, {
    ...createEdgeAccess(config, credentials, log),
    log,
    clock,
    upstreams: fetchUpstreams(config.forward),
    openApi: () => import("../http/openapi/document.ts"),
    generations: {
      sourceOf: (scope) =>
        new HttpTransferSource({
          gateway: primaryUrl,
          token: transferToken,
          scope,
          clock: clock.now,
          counters,
          ...(transferKeys && { keys: transferKeys }),
        }),
      counters,
      partBytes: PART_BYTES,
      pushes: {
        send: sendOverHttp({ primaryUrl, sentBytes: config.limits.pushSentBytes }),
        unreachable: {
          code: "PRIMARY_UNREACHABLE",
          message: "the primary did not answer this push",
        },
      },
    },
  });
  return app;
}

/** The settings of a secondary. */
interface SecondarySettings {
  readonly config: EdgeConfig;
  /** Credentials whose tokens decide a query's view; the primary checks pushes. */
  readonly credentials: readonly PushCredential[];
  /** The gateway that takes pushes and compiles generations. */
  readonly primaryUrl: string;
  readonly transferToken: string;
  /** The primary signs with one of these. Undefined: signatures are not verified. */
  readonly transferKeys: TransferKeys | undefined;
}

/** The most keys that are valid at the same time: the one in use, and the next one. */
const MOST_KEYS = 2;

/**
 * The settings in environment variables: CLUSTERSET_PRIMARY_URL, CLUSTERSET_TRANSFER_TOKEN,
 * CLUSTERSET_TRANSFER_KEYS, CONFIG and PUSH_CREDENTIALS.
 * @throws {UsageError} with each wrong variable or key, without any secret
 */
export function readSecondarySettings(
  environment: Readonly<Record<string, string | undefined>>,
): SecondarySettings {
  const primaryUrl = environment.CLUSTERSET_PRIMARY_URL?.trim() ?? "";
  if (!/^https?:\/\/./.test(primaryUrl) || !URL.canParse(primaryUrl))
    throw new UsageError(
      "CLUSTERSET_PRIMARY_URL: must be the URL of the primary, such as https://doh.example.org:8443",
    );
  const transferToken = environment.CLUSTERSET_TRANSFER_TOKEN?.trim() ?? "";
  if (!/^[\w\-.~+/]+=*$/.test(transferToken))
    throw new UsageError(
      "CLUSTERSET_TRANSFER_TOKEN: must be a token whose hash is in the primary's transfer.credentials: clusterset-doh token",
    );
  const transferKeys = readTransferKeys(environment.CLUSTERSET_TRANSFER_KEYS);
  const config = readEdgeConfig(environment.CONFIG);
  checkLocationFromHeaders(config.location);
  return {
    config,
    credentials: readPushCredentials(environment.PUSH_CREDENTIALS),
    primaryUrl,
    transferToken,
    transferKeys,
  };
}

/** @throws {UsageError} which repeats no key */
function readTransferKeys(text: string | undefined): TransferKeys | undefined {
  if (text === undefined) return undefined;
  const secrets = text.split(/[\s,]+/).filter((secret) => secret !== "");
  if (secrets.length < 1 || secrets.length > MOST_KEYS || secrets.some(isShort))
    throw new UsageError(
      `CLUSTERSET_TRANSFER_KEYS: must be one or ${MOST_KEYS} keys of at least ${LEAST_KEY_CHARACTERS} characters, one of them that of the primary's transfer.keyFile`,
    );
  return new TransferKeys(secrets);
}

function isShort(secret: string): boolean {
  return secret.length < LEAST_KEY_CHARACTERS;
}
