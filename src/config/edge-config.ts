import type * as z from "zod";
import { ADMITS_NO_CLIENT, KINDS, type PushCredential } from "./access.ts";
import { checkFederations } from "./federations.ts";
import { checkAddressHeader } from "./limits.ts";
import { checkOneHop } from "./location.ts";
import { withAlwaysServed } from "./own-names.ts";
import { EdgeConfig, EdgePushCredentials } from "./settings.ts";
import { suggestKey } from "./suggest-key.ts";
import { type ConfigIssue, countOf, listIssues, UsageError } from "./values.ts";

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
  for (const [index, rule] of config.access.rules.entries())
    if (countOf(rule, KINDS) === 0)
      throw new UsageError(`CONFIG.access.rules[${index}]: ${ADMITS_NO_CLIENT}`);
  return { ...config, zones };
}

/**
 * The credentials in the secret `PUSH_CREDENTIALS`, JSON or its text: a list, or one or more hashes by
 * cluster id. None if it is not set.
 * @throws {UsageError} with the place of each error, without any value
 */
export function readPushCredentials(value: unknown, variable = "PUSH_CREDENTIALS"): PushCredential[] {
  const given = typeof value === "string" ? fromText(variable, value) : (value ?? []);
  const isMapping = typeof given === "object" && given !== null && !Array.isArray(given);
  return parse(variable, EdgePushCredentials, isMapping ? listed(given) : given);
}

const VARIABLE = /^PUSH_CREDENTIALS(?:_[A-Z0-9_]+)?$/;

/**
 * The credentials in `PUSH_CREDENTIALS` and in `PUSH_CREDENTIALS_2`, `PUSH_CREDENTIALS_EU` and so on
 * together: hosts limit the length of one variable (Cloudflare: 5 KB, which are some 60 clusters).
 * @throws {UsageError} like `readPushCredentials`
 */
export function readAllPushCredentials(environment: object): PushCredential[] {
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
      .map((issue) => say(variable, issue, schema))
      .join("\n"),
  );
}

function fromText(variable: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text may be a secret, so the message does not repeat it.
    throw new UsageError(
      `${variable}: is not JSON: names and texts are in double quotes, and nothing follows the last brace`,
    );
  }
}

function say(variable: string, { path, key, message, isUnknown }: ConfigIssue, schema: z.ZodType): string {
  const place = key === "" ? variable : `${variable}.${key}`.replace(".[", "[");
  return `${place}: ${message}${isUnknown === true ? `: ${suggestKey(schema, path)}` : ""}`;
}
