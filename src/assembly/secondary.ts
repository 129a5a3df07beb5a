import type { AccessRule } from "../access/rule.ts";
import { isStated } from "../config/access.ts";
import { secondaryMetrics } from "../http/metrics/table.ts";
import { visibilityKey } from "../merge/visibility.ts";
import { PartMemory } from "../transfer/part-cache.ts";
import { Secondary } from "../transfer/secondary.ts";
import { logTransfers } from "./log.ts";
import type { Answers, AnswersContext, SecondaryParts } from "./platform.ts";
import { createPushForward } from "./push-forward.ts";

/** No client is admitted, so nothing is ready. */
const NO_GATEWAY: Answers["gateway"] = {
  status: () => ({ ready: false, stateHash: undefined, compiledBytes: 0, services: 0, clusters: [] }),
};

const ACCESS_NOT_STATED =
  "the configuration does not say who may query, so every client may: set access.public or access.rules in CONFIG (docs/how-to/access.md)";

/**
 * Opens a secondary: each rule is answered from parts that have only what its clients may see. It requests
 * states from the primary when a query needs one.
 */
export function openSecondary(
  { config, stages, access, clusterIds, clock, log, audit }: AnswersContext,
  { sourceOf, counters, partBytes, pushes }: SecondaryParts,
): Answers {
  if (!isStated(config.access)) log("warn", "access-not-stated", ACCESS_NOT_STATED);
  const secondaries = new Map<string, Secondary>();
  const memory = new PartMemory(partBytes);
  const onEvent = logTransfers(log);
  const secondaryOf = ({ visibility: scope }: AccessRule): Secondary => {
    const key = visibilityKey(scope);
    const secondary =
      secondaries.get(key) ??
      new Secondary({ source: sourceOf(scope), stages, scope, memory, clusterIds, onEvent, clock });
    secondaries.set(key, secondary);
    return secondary;
  };
  // Public readiness is that of the first rule, since there may be no rule that sees everything.
  const [first] = access.rules.all;
  return {
    gateway: first === undefined ? NO_GATEWAY : secondaryOf(first),
    of: (rule) => {
      const secondary = secondaryOf(rule);
      return {
        gateway: secondary,
        prepare: (background) => secondary.freshen(clock.now(), background),
        // A secondary knows services that queries needed, but neither conflicts nor findings.
        listed: () => {
          const { world } = secondary;
          return world && { world, services: (query) => secondary.services(query) };
        },
        metrics: secondaryMetrics({
          gateway: secondary,
          clock: clock.now,
          transfer: { counters, memory },
        }),
      };
    },
    pushRoutes: createPushForward({
      ...pushes,
      log,
      audit,
      clientAddress: access.clientAddress,
      onChange: () => {
        for (const secondary of secondaries.values()) secondary.expire(clock.now());
      },
    }),
    close: async () => {},
  };
}
