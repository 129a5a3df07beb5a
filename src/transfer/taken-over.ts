import { leaseExpiry } from "../gateway/held-cluster.ts";
import type { ZoneImage } from "../zone/image.ts";
import type { TransferState } from "./transfer-state.ts";

/** What a secondary answers from: one state of the primary with the image that it names. */
export class TakenOver {
  readonly state: TransferState;
  /** When the primary said it, by this clock. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly image: ZoneImage | undefined;
  /** For each lease group when the first of its clusters' leases runs out, by this clock. */
  readonly leaseExpiry: Float64Array;
  readonly clusters: ReadonlySet<string>;

  /** @param asOf no later than the primary said it, so that a clock that differs from the primary's prolongs no lease */
  constructor(state: TransferState, asOf: number, image: ZoneImage | undefined) {
    const { clusters } = state.status;
    this.state = state;
    this.asOf = asOf;
    this.image = image;
    const behind = asOf - state.at;
    const expiresAt = new Map(clusters.map((cluster) => [cluster.clusterId, cluster.expiresAt + behind]));
    this.leaseExpiry = leaseExpiry(image?.leaseGroups ?? [], (clusterId) => expiresAt.get(clusterId));
    this.clusters = new Set(expiresAt.keys());
  }
}
