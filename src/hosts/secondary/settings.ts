import type { EdgePushCredential } from "../../config/access/push-credentials.ts";
import { type EdgeConfig, readEdgeConfig, readPushCredentials } from "../../config/edge-config.ts";
import { checkLocationFromHeaders } from "../../config/location.ts";
import { UsageError } from "../../config/usage-error.ts";

/** What a secondary is started with. */
export interface SecondarySettings {
  readonly config: EdgeConfig;
  /** Whose tokens say which cluster asks; pushes are checked by the primary. */
  readonly credentials: readonly EdgePushCredential[];
  /** The gateway that takes pushes and compiles images. */
  readonly primaryUrl: string;
  readonly transferToken: string;
}

/**
 * The settings in environment variables: CLUSTERSET_PRIMARY_URL, CLUSTERSET_TRANSFER_TOKEN, CONFIG and PUSH_CREDENTIALS.
 * @throws {UsageError} naming each variable or key that is wrong, without any secret
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
  const config = readEdgeConfig(environment.CONFIG);
  checkLocationFromHeaders(config.location);
  return {
    config,
    credentials: readPushCredentials(environment.PUSH_CREDENTIALS),
    primaryUrl,
    transferToken,
  };
}
