import type { Difference } from "./difference.ts";
import { localOnlyDifferences } from "./local.ts";
import { localReverseDifferences, reverseDifferences } from "./reverse.ts";
import { addressDifferences, endpointDifferences, portDifferences } from "./services.ts";
import { zoneDifferences } from "./zone.ts";

/** Every way in which the gateway answers otherwise than CoreDNS 1.15 in the clusterset zone. */
export const differences: readonly Difference[] = [
  ...zoneDifferences,
  ...portDifferences,
  ...addressDifferences,
  ...endpointDifferences,
  ...reverseDifferences,
];

/** Those in a cluster's own zone that the clusterset zone does not have. */
export const ownDifferences: readonly Difference[] = [...localOnlyDifferences, ...localReverseDifferences];

/** Every way in which the gateway answers otherwise in a cluster's own zone. */
export const localDifferences: readonly Difference[] = [
  ...differences.filter(({ isShared }) => isShared),
  ...ownDifferences,
];
