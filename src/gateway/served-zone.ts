import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { Remembered } from "../merge/merge.ts";
import type { Clock } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import { type HeldCluster, leaseExpiry } from "./held-cluster.ts";
import type { GatewayStages, ServedImage } from "./stages.ts";

/** What is answered from, with what was said while it was compiled. */
export interface ServedZone<Image extends ServedImage> {
  readonly image: Image;
  leaseExpiry: Float64Array;
  readonly services: number;
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** Compiles the live clusters and keeps what is served: the newest compilation that succeeded. */
export class ZoneCompiler<Image extends ServedImage> {
  readonly #stages: GatewayStages<Image>;
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  #served: ServedZone<Image> | undefined;
  #error: string | undefined;

  constructor(stages: GatewayStages<Image>, clock: Clock, onEvent: OnGatewayEvent) {
    this.#stages = stages;
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  /** What is served; undefined until a first compilation succeeded. */
  get served(): ServedZone<Image> | undefined {
    return this.#served;
  }

  /** Why the last compilation failed; undefined when it succeeded. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Compiles. An image with the content of the one that is served does not replace it. */
  compile(clusters: ReadonlyMap<string, HeldCluster>, remembered: Remembered): void {
    const startedAt = this.#clock.now();
    try {
      const sorted = [...clusters.keys()].sort();
      const clusterset = this.#stages.merge(
        sorted.map((clusterId) => clusters.get(clusterId)!.snapshot),
        remembered,
      );
      const { image: compiled, findings } = this.#stages.compile(clusterset, startedAt);
      const before = this.#served?.image;
      const changed = before?.contentHash !== compiled.contentHash;
      const image = changed || before === undefined ? compiled : before;
      this.#served = {
        image,
        leaseExpiry: leaseExpiry(image.leaseGroups, expiresAtIn(clusters)),
        services: clusterset.services.length,
        conflicts: clusterset.conflicts,
        findings: [...clusterset.findings, ...findings],
      };
      this.#error = undefined;
      this.#onEvent({
        event: "compiled",
        changed,
        contentHash: image.contentHash,
        imageBytes: image.bytes.length,
        services: clusterset.services.length,
        milliseconds: this.#clock.now() - startedAt,
      });
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      this.#onEvent({ event: "compile-failed", error });
    }
  }

  /** Takes over renewed leases, without compiling. */
  renew(clusters: ReadonlyMap<string, HeldCluster>): void {
    const served = this.#served;
    if (served !== undefined)
      served.leaseExpiry = leaseExpiry(served.image.leaseGroups, expiresAtIn(clusters));
  }
}

function expiresAtIn(clusters: ReadonlyMap<string, HeldCluster>): (clusterId: string) => number | undefined {
  return (clusterId) => clusters.get(clusterId)?.meta.expiresAt;
}
