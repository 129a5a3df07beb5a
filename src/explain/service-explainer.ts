import type { ServiceAccount } from "../merge/account.ts";
import type { ClustersetService } from "../merge/clusterset.ts";
import type { ExplainedRecord, ExplainedService, Suggestion } from "./explanation.ts";
import type { Facts, Verdict } from "./facts.ts";
import type { KnownNames } from "./near/near-names.ts";
import type { RecordZone } from "./service/records.ts";
import type { NamedService } from "./subject.ts";

/**
 * What explanations say of merged services. Hosts that merge give it to the explanation (`SERVICE_EXPLAINER`), so that it does not reach those
 * that only have compiled zones: a Worker's bundle is 3 KB smaller, compressed, without it.
 */
export interface ServiceExplainer {
  /** @param view the name of a view; undefined for outside */
  explainService(
    service: ClustersetService,
    account: ServiceAccount,
    view: string | undefined,
  ): ExplainedService;
  recordsFrom(
    account: ServiceAccount & { readonly service: ClustersetService },
    question: { readonly prefix: string; readonly type: number; readonly view: string | undefined },
    zone: RecordZone,
  ): readonly ExplainedRecord[];
  /** The verdict on a name below a namespace that the view has, where no such name is served. @param having the clusters that have the namespace */
  judgeMissing(
    facts: Facts,
    service: NamedService,
    having: readonly string[],
    near: () => Suggestion[],
  ): Verdict;
  /** Services with a similar name. @param zone with the trailing dot */
  nearServices(service: NamedService, zone: string, known: KnownNames): Suggestion[];
  /** Some services of a namespace. */
  servicesIn(namespace: string, known: KnownNames): Suggestion[];
}
