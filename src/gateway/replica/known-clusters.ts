import type { Gone } from "../../store/shared/shared-log.ts";

/** What a log has of a cluster, as far as it was applied. */
export interface KnownCluster {
  /** Of its newest entry; undefined where the log has nothing of it. */
  readonly id: string | undefined;
  readonly position: number;
  /** Whether this gateway holds the state of that entry. */
  readonly isHeld: boolean;
  /** When its lease ends, by the gateway's clock; Infinity if it has none. */
  readonly endsAt: number;
  /** The newest generation that left, where that is what the log has of the cluster. */
  readonly left?: number | undefined;
}

/** What a log has of each cluster, and which lease ends next. */
export class KnownClusters {
  readonly #clusters = new Map<string, KnownCluster>();
  /** Called when the next lease may end sooner. */
  onChange: () => void = () => {};

  get(clusterId: string): KnownCluster | undefined {
    return this.#clusters.get(clusterId);
  }

  ids(): Iterable<string> {
    return this.#clusters.keys();
  }

  set(clusterId: string, known: KnownCluster): void {
    this.#clusters.set(clusterId, known);
    this.onChange();
  }

  /** What is held of a cluster is newer than what the log has. Its lease goes on, and nothing renews it but a push in full. @param now what the log has, if anything */
  lose(clusterId: string, now: { readonly id: string; readonly position: number } | undefined): void {
    const { endsAt = Number.POSITIVE_INFINITY } = this.#clusters.get(clusterId) ?? {};
    this.set(clusterId, { id: undefined, position: 0, ...now, isHeld: false, endsAt });
  }

  /** Clusters that left, and up to which generation. */
  departed(): Map<string, number> {
    const departed = new Map<string, number>();
    for (const [clusterId, { left }] of this.#clusters) if (left !== undefined) departed.set(clusterId, left);
    return departed;
  }

  /** The lease ended, and what the log has of it is not what was held. */
  end(clusterId: string): void {
    const known = this.#clusters.get(clusterId);
    if (known !== undefined) this.#clusters.set(clusterId, { ...known, endsAt: Number.POSITIVE_INFINITY });
  }

  /** Whether something is answered that the log does not have: until its lease ends, or its worker pushes in full. */
  get holdsLost(): boolean {
    for (const { isHeld, endsAt } of this.#clusters.values())
      if (!isHeld && endsAt !== Number.POSITIVE_INFINITY) return true;
    return false;
  }

  /** When the next lease ends, by the gateway's clock. */
  get nextEnd(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { endsAt } of this.#clusters.values()) next = Math.min(next, endsAt);
    return next;
  }

  /** Clusters whose lease has ended. */
  ended(now: number): [clusterId: string, known: KnownCluster][] {
    return [...this.#clusters].filter(([, { endsAt }]) => endsAt <= now);
  }
}

/** The newest generation that left; undefined of a cluster that did not. */
export function leftOf(gone: Gone | undefined): number | undefined {
  return gone?.why === "left" ? gone.generation : undefined;
}
