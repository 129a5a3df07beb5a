import type { Remembered } from "../merge/merge.ts";
import { type Scope, scopeKey } from "../merge/scope.ts";
import { createVisibility, seesCluster } from "../merge/visible.ts";
import type { Clock } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import type { GatewayStatus } from "./gateway-types.ts";
import type { HeldCluster } from "./held-cluster.ts";
import { LiveClusters } from "./live-clusters.ts";
import { type ServedZone, ZoneCompiler } from "./served-zone.ts";
import type { GatewayStages, ServedImage } from "./stages.ts";

/** What scopes are served with. */
export interface ScopeParts<Image extends ServedImage> {
  readonly stages: GatewayStages<Image>;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  /** Clusters whose lease ran out that are remembered. */
  readonly mostLapsed: number;
}

/** The clusters that exist in a scope and the image of them: as in a gateway to which nothing else was ever pushed. */
export class ServedScope<Image extends ServedImage> {
  readonly clusters: LiveClusters;
  readonly #scope: Scope;
  readonly #compiler: ZoneCompiler<Image>;
  /** Whether the served image knows every cluster that denying a name needs. */
  #ready = false;

  /**
   * @param scope without a view
   * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
   */
  constructor(scope: Scope, { stages, clock, onEvent, mostLapsed }: ScopeParts<Image>) {
    this.#scope = scope;
    this.clusters = new LiveClusters(mostLapsed, createVisibility(scope));
    this.#compiler = new ZoneCompiler(stages, clock, onEvent, scopeKey(scope));
  }

  /** What is answered from; undefined while names cannot be denied: nothing is loaded, or every cluster died. */
  get served(): ServedZone<Image> | undefined {
    return this.#ready && !this.clusters.unknown ? this.#compiler.served : undefined;
  }

  set(cluster: HeldCluster): void {
    if (seesCluster(this.#scope, cluster.snapshot.clusterId)) this.clusters.set(cluster);
  }

  /** Takes over renewed leases, without compiling. */
  renew(): void {
    this.clusters.leasesChanged();
    this.#compiler.renew(this.clusters.expiresAt);
  }

  /** Compiles what there is; must not throw, so that the other scopes are compiled whatever becomes of this one. */
  compile(remembered: Remembered): void {
    const { clusters } = this;
    if (clusters.unknown && this.#compiler.served === undefined) return;
    this.#compiler.compile(clusters.snapshots(), clusters.hasLapsed, clusters.expiresAt, remembered);
    if (clusters.unknown) this.#ready = false;
    else if (this.#compiler.error === undefined) this.#ready = true;
  }

  status(): GatewayStatus {
    const { served, error } = this.#compiler;
    return {
      ready: this.served !== undefined,
      imageHash: served?.image.contentHash,
      imageBytes: served?.image.bytes.length ?? 0,
      services: served?.services ?? 0,
      clusters: this.clusters.statuses(),
      conflicts: served?.conflicts ?? [],
      findings: served?.findings ?? [],
      ...(error === undefined ? {} : { compileError: error }),
    };
  }
}
