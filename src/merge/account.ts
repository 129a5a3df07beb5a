import type { ClustersetService, Conflict } from "./clusterset.ts";
import type { Contribution } from "./service/declaration.ts";
import type { DeclaredService } from "./service/service.ts";

/** How a service comes about: what `service` is merged from. */
export interface ServiceAccount {
  /** The parts of clusters in it, in order of cluster id; those that do not count included. */
  readonly parts: readonly Contribution[];
  /** Undefined where no part counts. */
  readonly declared: DeclaredService | undefined;
  /** `byCluster` has `ABSENT_CLUSTER` for all clusters without addresses of their own. */
  readonly service: ClustersetService | undefined;
  /** Clusters whose view is that of clients outside, where that of others is not. */
  readonly likeOutside: readonly string[];
  readonly conflicts: readonly Conflict[];
}
