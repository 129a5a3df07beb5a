import { ResponseCode } from "../dns/codes.ts";
import type { Upstream } from "./upstream.ts";
import { readUpstreamAnswer, type UpstreamAnswer } from "./upstream-answer.ts";

/** How long name servers are waited for, in milliseconds. */
export interface ForwardTimeouts {
  /** One name server. */
  readonly serverMilliseconds: number;
  /** All of them, one after the other. */
  readonly totalMilliseconds: number;
}

export const DEFAULT_FORWARD_TIMEOUTS: ForwardTimeouts = {
  serverMilliseconds: 1500,
  totalMilliseconds: 5000,
};

/** Told when a name server stops answering, and when it answers again. */
export type OnNameserverChange = (nameserver: string, error: Error | undefined) => void;

/** How long a name server that failed is tried after the others, in milliseconds. */
const AVOIDED_MILLISECONDS = 30_000;

/** The name servers of one stub zone: they are asked in their order, those that failed lately last. */
export class Failover {
  readonly #upstreams: readonly Upstream[];
  readonly #timeouts: ForwardTimeouts;
  readonly #onChange: OnNameserverChange;
  readonly #now: () => number;
  readonly #failedAt = new Map<Upstream, number>();

  /** @param now a clock in milliseconds that never goes back */
  constructor(
    upstreams: readonly Upstream[],
    timeouts: ForwardTimeouts,
    onChange: OnNameserverChange,
    now: () => number = () => performance.now(),
  ) {
    this.#upstreams = upstreams;
    this.#timeouts = timeouts;
    this.#onChange = onChange;
    this.#now = now;
  }

  /**
   * Asks until one name server says what the name has, or that it does not exist. Where none does, the first other answer
   * (such as REFUSED) counts; undefined where none answered in time.
   * @param query ID 0, one question
   */
  async ask(query: Uint8Array): Promise<UpstreamAnswer | undefined> {
    const total = AbortSignal.timeout(this.#timeouts.totalMilliseconds);
    let lame: UpstreamAnswer | undefined;
    for (const upstream of this.#inOrder()) {
      if (total.aborted) break;
      try {
        const own = AbortSignal.timeout(this.#timeouts.serverMilliseconds);
        const bytes = await upstream.exchange(query, AbortSignal.any([total, own]));
        const answer = readUpstreamAnswer(query, bytes);
        if (answer === undefined)
          throw new Error("what it sent is no answer to the query (ID, question) or is malformed");
        this.#succeeded(upstream);
        if (answer.rcode === ResponseCode.NOERROR || answer.rcode === ResponseCode.NXDOMAIN) return answer;
        lame ??= answer;
      } catch (error) {
        // A name server that had less than its time has not failed.
        if (!total.aborted) this.#failed(upstream, error);
      }
    }
    return lame;
  }

  close(): void {
    for (const upstream of this.#upstreams) upstream.close();
  }

  #inOrder(): Upstream[] {
    if (this.#failedAt.size === 0) return [...this.#upstreams];
    const since = this.#now() - AVOIDED_MILLISECONDS;
    const failedAt = (upstream: Upstream) => {
      const at = this.#failedAt.get(upstream);
      return at === undefined || at < since ? Number.NEGATIVE_INFINITY : at;
    };
    return this.#upstreams.toSorted((one, other) => {
      const [here, there] = [failedAt(one), failedAt(other)];
      return here === there ? 0 : here - there;
    });
  }

  #succeeded(upstream: Upstream): void {
    if (this.#failedAt.delete(upstream)) this.#onChange(upstream.nameserver, undefined);
  }

  #failed(upstream: Upstream, error: unknown): void {
    const isNew = !this.#failedAt.has(upstream);
    this.#failedAt.set(upstream, this.#now());
    if (isNew) this.#onChange(upstream.nameserver, error instanceof Error ? error : new Error(String(error)));
  }
}
