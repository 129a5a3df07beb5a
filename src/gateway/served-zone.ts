import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { Merger, Remembered } from "../merge/merge.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { Clock } from "./clock.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import { leaseExpiry } from "./held-cluster.ts";
import type { GatewayStages, ServedImage } from "./stages.ts";

/** What is answered from, with what was said while it was compiled. */
export interface ServedZone<Image extends ServedImage> {
  readonly image: Image;
  leaseExpiry: Float64Array;
  readonly services: number;
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** When a cluster's lease runs out, in Unix milliseconds; undefined for one that is not live. */
export type ExpiresAt = (clusterId: string) => number | undefined;

/** Compiles snapshots and keeps what is served: the newest compilation that succeeded. */
export class ZoneCompiler<Image extends ServedImage> {
  readonly #stages: Pick<GatewayStages<Image>, "compile">;
  readonly #merge: Merger;
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  readonly #named: { readonly scope?: string };
  #compiled: { readonly snapshots: readonly ClusterSnapshot[]; readonly withAbsent: boolean } | undefined;
  #served: ServedZone<Image> | undefined;
  #error: string | undefined;

  /** @param scope names the scope in events; empty for everything */
  constructor(
    stages: Pick<GatewayStages<Image>, "createMerger" | "compile">,
    clock: Clock,
    onEvent: OnGatewayEvent,
    scope: string,
  ) {
    this.#stages = stages;
    this.#merge = stages.createMerger();
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#named = scope === "" ? {} : { scope };
  }

  /** What is served; undefined until a first compilation succeeded. */
  get served(): ServedZone<Image> | undefined {
    return this.#served;
  }

  /** Why the last compilation failed; undefined when it succeeded. */
  get error(): string | undefined {
    return this.#error;
  }

  /**
   * Compiles, unless these very snapshots are what is served. An image with the content of the one that is served does not replace it.
   * @param withAbsent whether clusters that are not live have a view
   */
  compile(
    snapshots: readonly ClusterSnapshot[],
    withAbsent: boolean,
    expiresAt: ExpiresAt,
    remembered: Remembered,
  ): void {
    const isCompiled = snapshots === this.#compiled?.snapshots && withAbsent === this.#compiled.withAbsent;
    if (isCompiled && this.#error === undefined) {
      this.renew(expiresAt);
      return;
    }
    const startedAt = this.#clock.now();
    try {
      const clusterset = this.#merge(snapshots, remembered, withAbsent);
      const { image: compiled, findings } = this.#stages.compile(clusterset, startedAt);
      const before = this.#served?.image;
      const changed = before?.contentHash !== compiled.contentHash;
      const image = changed || before === undefined ? compiled : before;
      this.#served = {
        image,
        leaseExpiry: leaseExpiry(image.leaseGroups, expiresAt),
        services: clusterset.services.length,
        conflicts: clusterset.conflicts,
        findings: [...clusterset.findings, ...findings],
      };
      this.#error = undefined;
      this.#compiled = { snapshots, withAbsent };
      this.#onEvent({
        event: "compiled",
        ...this.#named,
        changed,
        contentHash: image.contentHash,
        imageBytes: image.bytes.length,
        services: clusterset.services.length,
        milliseconds: this.#clock.now() - startedAt,
      });
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      this.#onEvent({ event: "compile-failed", ...this.#named, error });
    }
  }

  /** Takes over renewed leases, without compiling. */
  renew(expiresAt: ExpiresAt): void {
    const served = this.#served;
    if (served !== undefined) served.leaseExpiry = leaseExpiry(served.image.leaseGroups, expiresAt);
  }
}
