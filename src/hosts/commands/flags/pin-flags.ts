import { Exports, exportLimitsOf, ServicePattern } from "../../../config/access/push-credentials.ts";
import { UsageError } from "../../../config/values.ts";
import type { Pins } from "../../../merge/pins.ts";
import { ClusterId } from "../../../snapshot/schema.ts";

/** Flags with the same meaning as `push.credentials[].exports` and `services` of `serve`. */
export interface PinFlags {
  readonly exports?: readonly string[] | undefined;
  readonly owner?: readonly string[] | undefined;
}

/**
 * The pins of all `--exports CLUSTER=SERVICE,…` and `--owner SERVICE=CLUSTER`.
 * @throws {UsageError} for an invalid one
 */
export function readPins({ exports = [], owner = [] }: PinFlags = {}): Pins {
  return { exports: exportLimitsOf(exports.map(readLimit)), owners: owner.map(readOwner) };
}

function readLimit(text: string): { readonly clusterId: string; readonly exports: string[] } {
  const [clusterId, list] = halves(text);
  const exports = Exports.safeParse(list === "" ? [] : list?.split(","));
  if (ClusterId.safeParse(clusterId).success && exports.success) return { clusterId, exports: exports.data };
  throw new UsageError(
    `--exports ${JSON.stringify(text)} is not CLUSTER=SERVICES such as east=shop,payroll/db`,
  );
}

function readOwner(text: string): { readonly service: string; readonly owner: string } {
  const [service, owner] = halves(text);
  if (ServicePattern.safeParse(service).success && ClusterId.safeParse(owner).success)
    return { service, owner: owner! };
  throw new UsageError(`--owner ${JSON.stringify(text)} is not SERVICE=CLUSTER such as shop/web=east`);
}

function halves(text: string): readonly [string, string | undefined] {
  const at = text.indexOf("=");
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
