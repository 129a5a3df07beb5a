import type { AskingAuthority } from "../../access/asking/asking-authority.ts";
import type { RuleCredentials } from "../../access/asking/asking-settings.ts";
import type { Audience, Audiences } from "../../access/asking/audience.ts";
import { knownKinds } from "../../access/asking/refusals.ts";
import type { EdgeConfig } from "../../config/edge-config.ts";
import { type AdmittedGateway, createAdmitted } from "../../http/access/admitted.ts";
import { createSite, type Site } from "../../http/access/site.ts";
import type { AppDependencies } from "../../http/app.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import { AccessCounters } from "../../http/metrics/access-counters.ts";
import { createStatusMetrics } from "../../http/metrics/status-metrics.ts";
import { type Scope, scopeKey } from "../../merge/scope.ts";
import type { Secondary } from "../../transfer/secondary.ts";
import { pagesOfSecondary } from "./pages-of-secondary.ts";

/** The site of an audience, and the images that it is answered from. */
export interface SecondarySite extends Site {
  readonly secondary: Secondary;
}

/** What the sites of a secondary are put together from. */
export interface SecondarySitesParts {
  readonly config: EdgeConfig;
  readonly audiences: Audiences;
  readonly rules: readonly RuleCredentials[];
  readonly authority: AskingAuthority<HttpRequest>;
  /** The secondary that takes over the images of a scope. */
  readonly secondaryOf: (scope: Scope) => Secondary;
  /** What all sites share. */
  readonly common: Omit<AppDependencies, "gateway" | "pages" | "metrics">;
  readonly hasMetrics: boolean;
}

/** Nobody is answered. */
const NOBODY = {
  status: () => ({ ready: false, imageHash: undefined, imageBytes: 0, services: 0, clusters: [] }),
};

/** The sites of a secondary behind the question who asks: each is answered from images in which nothing else is. */
export function createSecondarySites(parts: SecondarySitesParts): AdmittedGateway<SecondarySite> {
  const { config, audiences, rules, authority, common } = parts;
  const kinds = knownKinds(rules);
  const secondaries = new Map<string, Secondary>();
  const secondaryOf = ({ scope }: Audience): Secondary => {
    const key = scopeKey(scope);
    const secondary = secondaries.get(key) ?? parts.secondaryOf(scope);
    secondaries.set(key, secondary);
    return secondary;
  };
  // Everybody is told whether the first audience is answered, since nobody may be there for whom everything exists.
  const [first] = audiences.all;
  const gateway = first === undefined ? NOBODY : secondaryOf(first);
  return createAdmitted({
    authority,
    audiences,
    access: new AccessCounters(),
    common: { ...common, gateway },
    makeSite: (audience) => {
      const secondary = secondaryOf(audience);
      const site = createSite(
        {
          ...common,
          ...(parts.hasMetrics && { metrics: createStatusMetrics(secondary, common.clock) }),
        },
        audience,
        kinds,
        {
          gateway: secondary,
          pages: config.pages.enabled ? pagesOfSecondary(secondary, config) : undefined,
        },
      );
      return { ...site, secondary };
    },
  });
}
