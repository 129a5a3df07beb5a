import type { Scope } from "../merge/scope.ts";
import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/transport.ts";
import type { Clock } from "./clock.ts";
import type { GatewayStatus } from "./gateway-types.ts";
import type { ScopedGateway } from "./scoped-gateway.ts";
import type { ServedScope } from "./served-scope.ts";
import type { ServedZone } from "./served-zone.ts";
import type { GatewayStages, ServedImage } from "./stages.ts";

interface AnswerParts<Image extends ServedImage> {
  readonly stages: Pick<GatewayStages<Image>, "resolve" | "notReady">;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly image: ServedScope<Image>;
  /** Drops clusters whose lease is over at `now`. */
  readonly expire: (now: number) => void;
}

/** Answers from the image of a scope. Where the scope has a view, whoever asks has it, and no other cluster's view exists. */
export class ScopeAnswers<Image extends ServedImage> implements ScopedGateway<Image> {
  readonly #stages: Pick<GatewayStages<Image>, "resolve" | "notReady">;
  readonly #clock: Clock;
  readonly #view: string | undefined;
  readonly #image: ServedScope<Image>;
  readonly #expire: (now: number) => void;

  constructor({ stages, clock, scope, image, expire }: AnswerParts<Image>) {
    this.#stages = stages;
    this.#clock = clock;
    this.#view = scope.view;
    this.#image = image;
    this.#expire = expire;
  }

  current(now: number): ServedZone<Image> | undefined {
    this.#expire(now);
    return this.#image.served;
  }

  answer(
    query: Uint8Array,
    given: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined {
    const view = this.#view ?? given;
    const served = this.current(now);
    if (served === undefined) return this.#stages.notReady(query, { view, transport });
    const { image, leaseExpiry } = served;
    return this.#stages.resolve(query, { image, leaseExpiry, view, now, transport, stale: false });
  }

  hasCluster(clusterId: string): boolean {
    return (this.#view ?? clusterId) === clusterId && this.#image.clusters.has(clusterId);
  }

  status(): GatewayStatus {
    this.#expire(this.#clock.now());
    return this.#image.status();
  }
}
