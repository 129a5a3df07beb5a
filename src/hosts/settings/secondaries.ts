import type { AccessRule, AccessRules } from "../../access/rules/access-rule.ts";
import type { EdgeConfig } from "../../config/edge-config.ts";
import type { AppParts } from "../../http/app.ts";
import { createStatusMetrics } from "../../http/metrics/status-metrics.ts";
import { createDirectory } from "../../http/pages/directory.ts";
import type { RuleParts } from "../../http/rule-answers.ts";
import { type Visibility, visibilityKey } from "../../merge/visibility.ts";
import type { Secondary } from "../../transfer/secondary.ts";

/** What secondaries are made of. */
export interface SecondariesParts {
  readonly config: EdgeConfig;
  readonly rules: AccessRules;
  /** The secondary that takes over the images of what is visible. */
  readonly secondaryOf: (visibility: Visibility) => Secondary;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly hasMetrics: boolean;
}

/** Nobody is answered. */
const NOBODY: AppParts["gateway"] = {
  status: () => ({ ready: false, imageHash: undefined, imageBytes: 0, services: 0, clusters: [] }),
};

/** Answers the clients of each rule from images in which nothing else is. */
export function createSecondaries(parts: SecondariesParts): Pick<AppParts, "within" | "gateway"> {
  const { config, rules, clock, hasMetrics } = parts;
  const secondaries = new Map<string, Secondary>();
  const secondaryOf = ({ visibility }: AccessRule): Secondary => {
    const key = visibilityKey(visibility);
    const secondary = secondaries.get(key) ?? parts.secondaryOf(visibility);
    secondaries.set(key, secondary);
    return secondary;
  };
  // Everybody may see whether the clients of the first rule are answered, since there may be no rule that sees everything.
  const [first] = rules.all;
  return {
    gateway: first === undefined ? NOBODY : secondaryOf(first),
    within: (rule): RuleParts => {
      const secondary = secondaryOf(rule);
      return {
        gateway: secondary,
        prepare: (background) => secondary.freshen(clock(), background),
        ...(hasMetrics && { metrics: createStatusMetrics(secondary, clock) }),
        ...(config.pages.enabled && { pages: pagesOf(secondary, config) }),
      };
    },
  };
}

/** A secondary knows services, but neither conflicts nor what other gateways were asked. */
function pagesOf(secondary: Secondary, { publicUrl, outsideZones }: EdgeConfig): RuleParts["pages"] {
  return {
    directory: createDirectory(() =>
      secondary.image === undefined ? undefined : { image: secondary.image },
    ),
    publicUrl,
    reach: () => ({ outside: outsideZones }),
  };
}
