import { Federation, federationOptions } from "../../../config/federations.ts";
import { UsageError } from "../../../config/values.ts";
import type { FederationOptions } from "../../../zone/options.ts";

/**
 * Reads `--federation NAME[=ZONE[,DOMAIN]]`. The default of ZONE is `federation`; an empty one means no zone.
 * @throws {UsageError} for an invalid federation
 */
export function readFederationFlag(text: string): FederationOptions {
  const [, name, zone, domain] = /^([^=]*)(?:=([^,]*)(?:,(.*))?)?$/s.exec(text) ?? [];
  return readFederation(`--federation ${JSON.stringify(text)}`, {
    name,
    ...(zone !== undefined && { zone: zone === "" ? false : zone }),
    ...(domain !== undefined && { domain }),
  });
}

/**
 * A federation from flags; error messages start with `flag`.
 * @throws {UsageError} for an invalid federation
 */
export function readFederation(flag: string, given: object): FederationOptions {
  const checked = Federation.safeParse(given);
  if (checked.success) return federationOptions([checked.data])[0]!;
  const { path, message } = checked.error.issues[0]!;
  throw new UsageError(`${flag}: its ${path.join(".")} ${message}`);
}
