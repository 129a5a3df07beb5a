import { type AccessRule, hidesAnything, seesEverything } from "../access/rules/access-rule.ts";
import type { KnownKinds } from "../access/rules/rejections.ts";
import { createViewReader, type ViewSettings } from "../access/view/view.ts";
import { type AnswerQuery, createAnswerQuery, type QueryParts } from "../answer/answer-query.ts";
import type { ClientTests } from "../answer/client-tests.ts";
import type { DohGateway } from "../gateway/doh-gateway.ts";
import type { Background } from "../transfer/secondary.ts";
import { type AllowedOrigins, originsOf } from "./exchange/cross-origin.ts";
import { createRefuse, type Refuse } from "./exchange/refusal.ts";
import type { MetricsSource } from "./metrics/metrics-source.ts";
import type { PageParts, PageSettings } from "./pages/page-parts.ts";

/** Sees to what has to be there before a client is answered; undefined where it is. */
export type Prepare = (background?: Background) => Promise<void> | undefined;

/** All that the clients of an access rule are answered with: nothing else exists for them. */
export interface RuleAnswers {
  readonly gateway: DohGateway;
  readonly answerQuery: AnswerQuery;
  readonly prepare: Prepare | undefined;
  /** The web origins whose scripts may read these answers. */
  readonly origins: AllowedOrigins;
  /** Errors after admission. */
  readonly refuse: Refuse;
  /** Whether they may see what is counted of everything. */
  readonly seesEverything: boolean;
  /** Undefined for who may not see them. */
  readonly metrics: MetricsSource | undefined;
  /** Undefined where there are no pages. */
  readonly pages: PageParts | undefined;
}

/** What of the answers a host makes for each rule. */
export interface RuleParts {
  /** The gateway, as far as things exist for the rule's clients. */
  readonly gateway: DohGateway;
  /** What the pages list. Default: there are no pages. */
  readonly pages?: PageSettings | undefined;
  readonly prepare?: Prepare;
  /** What is counted, where it is counted for each rule. */
  readonly metrics?: MetricsSource;
}

/** What of the answers all rules share. */
export interface SharedParts
  extends Pick<QueryParts, "counters" | "clock" | "outside" | "stubs" | "clientAddress">,
    Pick<PageParts, "zones" | "version" | "endpointAt"> {
  /** The configured web origins; `*` is for the rule `public` alone. */
  readonly allowedOrigins: AllowedOrigins;
  /** What decides the view of queries, beside the path. Default: nothing. */
  readonly views?: ViewSettings | undefined;
  readonly metrics?: MetricsSource | undefined;
  /** Undefined where a host cannot tell what its other parts were asked. */
  readonly clientTests?: ClientTests | undefined;
}

/** @param kinds what others show */
export function createRuleAnswers(
  shared: SharedParts,
  rule: AccessRule,
  kinds: KnownKinds,
  { gateway, pages, prepare, metrics = shared.metrics }: RuleParts,
): RuleAnswers {
  const { counters, clock, outside, stubs, clientAddress, clientTests, zones, version, endpointAt } = shared;
  const { credentials, ...views } = shared.views ?? {};
  const answerQuery = createAnswerQuery({
    ...{ gateway, counters, clock, outside, clientAddress, clientTests },
    rule: rule.name,
    cluster: rule.visibility.view,
    views: createViewReader({ ...views, ...(rule.isPublic && { credentials }) }, (id) =>
      gateway.hasCluster(id),
    ),
    sharing: {
      isPrivate: !rule.isPublic || kinds.unseen,
      variesByCredential: kinds.bearer || kinds.basic,
    },
    // What other name servers say is not known, hence neither what of it would have to be hidden.
    stubs: hidesAnything(rule) ? undefined : stubs,
  });
  const pageZones = aliasesFirst(zones);
  const origins = originsOf(shared.allowedOrigins, rule.isPublic);
  return {
    ...{ gateway, answerQuery, prepare, origins },
    refuse: createRefuse(origins, counters),
    seesEverything: seesEverything(rule),
    metrics: seesEverything(rule) ? metrics : undefined,
    pages: pages && {
      ...{ ...pages, gateway, answerQuery, clientTests, clock, version, endpointAt },
      zones: pageZones,
    },
  };
}

/** Browsers and Apple's systems keep `.local` to themselves (RFC 6762), so other zones make the better examples. */
function aliasesFirst(zones: readonly string[]): readonly string[] {
  const names = zones.map((zone) => zone.replace(/\.$/, "").toLowerCase());
  const isLocal = (zone: string) => /(?:^|\.)local$/.test(zone);
  return [...names.filter((zone) => !isLocal(zone)), ...names.filter(isLocal)];
}
