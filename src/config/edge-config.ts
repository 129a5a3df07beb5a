import * as z from "zod";
import { EdgeAccess, EdgePushCredential } from "./access.ts";
import { checkFederations } from "./federations.ts";
import { EdgeForward, requireUpstreams } from "./forward.ts";
import { gatewayLimits, gatewaySettings } from "./gateway.ts";
import { checkAddressHeader } from "./limits.ts";
import { checkOneHop } from "./location.ts";
import { withAlwaysServed } from "./own-names.ts";
import { type ConfigIssue, listIssues, UsageError } from "./values.ts";

const MEBI = 1024 * 1024;

/** The limits in a Durable Object, which has 128 MB of memory: a push is staged there, while others may be (docs/how-to/deploy/edge.md). */
const edgeLimits = {
  ...gatewayLimits,
  snapshotCharacters: gatewayLimits.snapshotCharacters.removeDefault().default(16 * MEBI),
  pushBytes: gatewayLimits.pushBytes.removeDefault().default(16 * MEBI),
  pushBytesInFlight: gatewayLimits.pushBytesInFlight.removeDefault().default(32 * MEBI),
  pushSmallBytes: gatewayLimits.pushSmallBytes.removeDefault().default(16 * 1024),
  pushValues: gatewayLimits.pushValues.removeDefault().default(1_000_000),
  /** Compiled names that a Worker's isolate holds: those that queries used last. Its program takes the rest of 64 MB. */
  isolateBytes: z
    .int()
    .min(MEBI)
    .max(64 * MEBI)
    .default(24 * MEBI),
};

const Settings = z.strictObject({
  ...gatewaySettings,
  forward: EdgeForward,
  access: EdgeAccess.prefault({}),
  limits: z.strictObject(edgeLimits).prefault({}),
});

/** The variable `CONFIG` of the Worker: the settings of `clusterset-doh serve` that are not about its server. */
export const EdgeConfig = Settings.superRefine(requireUpstreams);

export type EdgeConfig = z.infer<typeof EdgeConfig>;

const PushCredentials = z.array(EdgePushCredential).max(10_000);

/**
 * The settings in the variable `CONFIG`, a JSON value or its text; all defaults if it is absent.
 * @throws {UsageError} with each wrong key
 */
export function readEdgeConfig(value: unknown): EdgeConfig {
  const given = typeof value === "string" ? fromText("CONFIG", value) : (value ?? {});
  const config = parse("CONFIG", EdgeConfig, given);
  const zones = withAlwaysServed(config.zones);
  checkFederations(config.federations, zones);
  checkOneHop(config.location);
  checkAddressHeader(config.clients);
  return { ...config, zones };
}

/**
 * The credentials in the secret `PUSH_CREDENTIALS`, JSON or its text: a list, or one or more hashes by cluster id. None if it
 * is not set.
 * @throws {UsageError} with the place of each error, without any value
 */
export function readPushCredentials(value: unknown, variable = "PUSH_CREDENTIALS"): EdgePushCredential[] {
  const given = typeof value === "string" ? fromText(variable, value) : (value ?? []);
  const isMapping = typeof given === "object" && given !== null && !Array.isArray(given);
  return parse(variable, PushCredentials, isMapping ? listed(given) : given);
}

const VARIABLE = /^PUSH_CREDENTIALS(?:_[A-Z0-9_]+)?$/;

/**
 * The credentials in `PUSH_CREDENTIALS` and in `PUSH_CREDENTIALS_2`, `PUSH_CREDENTIALS_EU` and so on together: hosts limit the length of
 * one variable (Cloudflare: 5 KB, which are some 60 clusters).
 * @throws {UsageError} like `readPushCredentials`
 */
export function readAllPushCredentials(environment: object): EdgePushCredential[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    VARIABLE.test(name) ? readPushCredentials(value, name) : [],
  );
}

function listed(byCluster: object): unknown[] {
  return Object.entries(byCluster).flatMap(([clusterId, hashes]) =>
    [hashes].flat().map((tokenSha256) => ({ clusterId, tokenSha256 })),
  );
}

function parse<Schema extends z.ZodType>(variable: string, schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
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
    // The text may be a secret, so the message does not repeat it.
    throw new UsageError(`${variable}: is not JSON`);
  }
}

function say(variable: string, { key, message }: ConfigIssue): string {
  return key === "" ? `${variable}: ${message}` : `${variable}.${key}: ${message}`.replace(".[", "[");
}
