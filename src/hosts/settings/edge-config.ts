import * as z from "zod";
import { ClusterId } from "../../snapshot/schema.ts";
import { type ConfigIssue, listIssues } from "./config-issues.ts";
import { checkFederations } from "./federation-config.ts";
import { gatewayLimits, gatewaySettings } from "./gateway-settings.ts";
import { checkOneHop } from "./location-settings.ts";
import { EdgePushCredential, TokenSha256 } from "./push-credentials.ts";
import { withAlwaysServed } from "./served-zones.ts";
import { UsageError } from "./usage-error.ts";

/** The variable `CONFIG` of a serverless host: the settings of `clusterset-doh serve` that are not about its server. */
export const EdgeConfig = z.strictObject({
  ...gatewaySettings,
  limits: z.strictObject(gatewayLimits).prefault({}),
});

export type EdgeConfig = z.infer<typeof EdgeConfig>;

/** The secret `PUSH_CREDENTIALS`: a list, or the hashes by cluster id. */
const PushCredentials = z.union([
  z.array(EdgePushCredential).max(10_000),
  z.record(ClusterId, z.union([TokenSha256, z.array(TokenSha256).max(10)])),
]);

/**
 * The settings in the variable `CONFIG`, a JSON value or its text; every default where there is none.
 * @throws {UsageError} naming each key that is wrong
 */
export function readEdgeConfig(value: unknown): EdgeConfig {
  const config = parse("CONFIG", EdgeConfig, value ?? {});
  const zones = withAlwaysServed(config.zones);
  checkFederations(config.federations, zones);
  checkOneHop(config.location);
  return { ...config, zones };
}

/**
 * The credentials in the secret `PUSH_CREDENTIALS`, JSON or its text; none where there is none.
 * @throws {UsageError} naming what is wrong, without any value
 */
export function readPushCredentials(value: unknown): EdgePushCredential[] {
  const credentials = parse("PUSH_CREDENTIALS", PushCredentials, value ?? []);
  if (Array.isArray(credentials)) return credentials;
  return Object.entries(credentials).flatMap(([clusterId, hashes]) =>
    [hashes].flat().map((tokenSha256) => ({ clusterId, tokenSha256 })),
  );
}

function parse<Schema extends z.ZodType>(variable: string, schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(typeof value === "string" ? fromText(variable, value) : value);
  if (result.success) return result.data;
  throw new UsageError(
    listIssues(result.error)
      .map((issue) => say(variable, issue))
      .join("\n"),
  );
}

function fromText(variable: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not repeated: it may be a secret.
    throw new UsageError(`${variable}: is not JSON`);
  }
}

function say(variable: string, { key, message }: ConfigIssue): string {
  return key === "" ? `${variable}: ${message}` : `${variable}.${key}: ${message}`.replace(".[", "[");
}
