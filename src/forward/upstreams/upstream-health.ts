import type { ForwardClock } from "../clock.ts";
import type { Upstream } from "./upstream.ts";

/** Told when a name server stops answering, with the error, and when it answers again. */
export type OnUpstreamChange = (upstream: string, error: Error | undefined) => void;

/** How long a name server that failed is left alone before a query probes it, in milliseconds; doubled with every further failure. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 60_000;

interface SetAside {
  readonly failedAt: number;
  readonly pause: number;
  probeAt: number;
}

/** Which of several name servers answer. One that fails is set aside: it is asked after the others, and probed with a query now and then. */
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

  /** Those that answer in their order, then those that are set aside, the longest first. */
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

  /** One that was left alone long enough to be asked along with the others; it is not named again before its next pause is over. */
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

  /** When any of them answered last, in the milliseconds of the clock. */
  get answeredAt(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...this.#answeredAt.values());
  }

  answered(upstream: Upstream): void {
    this.#answeredAt.set(upstream, this.#clock.now());
    if (this.#setAside.delete(upstream)) this.#onChange(upstream.nameserver, undefined);
  }

  /** @param askedAt when it was asked what it did not answer */
  failed(upstream: Upstream, askedAt: number, error: Error): void {
    // A name that takes long, such as one whose owner wants it to, says nothing of a name server that answers others meanwhile.
    if ((this.#answeredAt.get(upstream) ?? Number.NEGATIVE_INFINITY) > askedAt) return;
    const before = this.#setAside.get(upstream);
    const now = this.#clock.now();
    // Queries that were on their way together fail together: that is one failure.
    if (before !== undefined && now < before.failedAt + FIRST_PAUSE) return;
    const pause = before === undefined ? FIRST_PAUSE : Math.min(before.pause * 2, LONGEST_PAUSE);
    this.#setAside.set(upstream, { failedAt: now, pause, probeAt: now + pause });
    if (before === undefined) this.#onChange(upstream.nameserver, error);
  }
}
