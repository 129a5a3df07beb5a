import type { ForwardClock } from "../clock.ts";
import type { Upstream } from "./upstream.ts";

/** Called when a name server stops answering (with the error), and when it answers again. */
export type OnUpstreamChange = (upstream: string, error: Error | undefined) => void;

/** The pause before a query probes a failed name server, in milliseconds; every further failure doubles it. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 60_000;

interface SetAside {
  readonly failedAt: number;
  readonly pause: number;
  probeAt: number;
}

/** Tracks which of several name servers answer. A failed one is set aside: it comes after the others, and a query probes it from time to time. */
export class UpstreamHealth {
  readonly #upstreams: readonly Upstream[];
  readonly #clock: ForwardClock;
  readonly #onChange: OnUpstreamChange;
  readonly #setAside = new Map<Upstream, SetAside>();
  readonly #answeredAt = new Map<Upstream, number>();

  constructor(upstreams: readonly Upstream[], clock: ForwardClock, onChange: OnUpstreamChange) {
    this.#upstreams = upstreams;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** The working ones in their order, then those that are set aside, the longest first. */
  inOrder(): Upstream[] {
    if (this.#setAside.size === 0) return [...this.#upstreams];
    const failedAt = (upstream: Upstream) =>
      this.#setAside.get(upstream)?.failedAt ?? Number.NEGATIVE_INFINITY;
    return this.#upstreams.toSorted((one, other) => {
      const [here, there] = [failedAt(one), failedAt(other)];
      return here === there ? 0 : here - there;
    });
  }

  isSetAside(upstream: Upstream): boolean {
    return this.#setAside.has(upstream);
  }

  /** One whose pause has ended, to be probed beside the others; it is not returned again before its next pause ends. */
  takeProbe(): Upstream | undefined {
    if (this.#setAside.size === 0) return undefined;
    const now = this.#clock.now();
    for (const [upstream, state] of this.#setAside)
      if (now >= state.probeAt) {
        state.probeAt = now + state.pause;
        return upstream;
      }
    return undefined;
  }

  /** The time of the last answer of any of them, in milliseconds of the clock. */
  get answeredAt(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...this.#answeredAt.values());
  }

  answered(upstream: Upstream): void {
    this.#answeredAt.set(upstream, this.#clock.now());
    if (this.#setAside.delete(upstream)) this.#onChange(upstream.nameserver, undefined);
  }

  /** @param askedAt the start of the exchange that failed */
  failed(upstream: Upstream, askedAt: number, error: Error): void {
    // A slow name, perhaps slow on purpose, is no failure of a name server that answers other queries meanwhile.
    if ((this.#answeredAt.get(upstream) ?? Number.NEGATIVE_INFINITY) > askedAt) return;
    const before = this.#setAside.get(upstream);
    const now = this.#clock.now();
    // Queries that were pending together fail together: that is one failure.
    if (before !== undefined && now < before.failedAt + FIRST_PAUSE) return;
    const pause = before === undefined ? FIRST_PAUSE : Math.min(before.pause * 2, LONGEST_PAUSE);
    this.#setAside.set(upstream, { failedAt: now, pause, probeAt: now + pause });
    if (before === undefined) this.#onChange(upstream.nameserver, error);
  }
}
