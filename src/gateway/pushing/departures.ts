import { unixTime } from "../clock.ts";
import { refuseLate, type Sender } from "../gateway-types.ts";
import type { KeyedQueue } from "../keeping/keyed-queue.ts";
import { Removals } from "../keeping/removals.ts";
import type { StoreHealth } from "../keeping/store-health.ts";
import type { HeldCluster } from "../leases/held-cluster.ts";
import { refuseOtherInstance } from "../leases/other-instance.ts";
import type { ServedGeneration } from "../stages.ts";
import type { KeptParts } from "./push-parts.ts";

/** Removes clusters that leave, and clusters whose lease expired, from the store; those that leave also from the answers. */
export class Departures<Generation extends ServedGeneration> {
  readonly #parts: KeptParts<Generation>;
  readonly #queue: KeyedQueue;
  readonly #removals: Removals;

  /** @param queue of pushes, by cluster id */
  constructor(parts: KeptParts<Generation>, queue: KeyedQueue, health: StoreHealth) {
    this.#parts = parts;
    this.#queue = queue;
    const { clock, onEvent, store, precedence, serving } = parts;
    this.#removals = new Removals({
      ...{ clock, onEvent, health, queue },
      isLive: (clusterId) => serving.clusters.live.has(clusterId),
      remove: async (clusterId) => {
        await precedence.parted(clusterId);
        await store.remove(clusterId);
      },
    });
  }

  /** Whether the store still has a cluster that left. */
  owes(clusterId: string): boolean {
    return this.#removals.owes(clusterId);
  }

  /** Removes a cluster. @returns false if it was not live. Rejects if the store fails; the answers lack the cluster all the same. */
  async leave(clusterId: string, sender: Sender): Promise<boolean> {
    const { onEvent, serving } = this.#parts;
    const { known, failure } = await this.#queue.run(clusterId, async () => {
      const held = serving.clusters.live.get(clusterId);
      refuseOtherInstance(held, sender.instance, this.#parts);
      refuseLate(sender, { generation: held?.meta.generation });
      return { failure: await this.#removals.remove(clusterId), known: serving.leave(clusterId) };
    });
    if (known) onEvent({ event: "left", clusterId });
    // A cluster that is not known any more may have a place in the order of claims, too, and must not have it after a restart.
    await serving.compile();
    if (failure !== undefined) throw failure;
    return known;
  }

  /** Removes clusters whose lease expired, which are out of the answers already. */
  forget(expired: readonly HeldCluster[]): void {
    const { onEvent, serving, clock } = this.#parts;
    for (const { clusterId, meta } of expired) {
      onEvent({ event: "lease-expired", clusterId, expiredAt: unixTime(clock, meta.expiresAt) });
      this.#queue
        .run(clusterId, async () => {
          // It may have pushed again before its turn.
          if (serving.clusters.live.has(clusterId)) return;
          await this.#removals.remove(clusterId);
        })
        .catch((error) => onEvent({ event: "removal-failed", clusterId, error }));
    }
  }

  /** Retries no removal any more. */
  close(): void {
    this.#removals.close();
  }
}
