import { leaseExpiry } from "../gateway/held-cluster.ts";
import type { ZoneImage } from "../zone/image.ts";
import type { TransferState } from "./transfer-state.ts";

/** What a secondary answers from: one state of the primary with the image that it names. */
export class TakenOver {
  readonly state: TransferState;
  /** When the primary said it, in Unix milliseconds. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly image: ZoneImage | undefined;
  /** For each lease group when the first of its clusters' leases runs out. */
  readonly leaseExpiry: Float64Array;
  readonly clusters: ReadonlySet<string>;

  constructor(state: TransferState, asOf: number, image: ZoneImage | undefined) {
    const expiresAt = new Map(state.status.clusters.map((cluster) => [cluster.clusterId, cluster.expiresAt]));
    this.state = state;
    this.asOf = asOf;
    this.image = image;
    this.leaseExpiry = leaseExpiry(image?.leaseGroups ?? [], (clusterId) => expiresAt.get(clusterId));
    this.clusters = new Set(expiresAt.keys());
  }
}
