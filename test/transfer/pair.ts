import { decode } from "dns-packet";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { Primary } from "../../src/transfer/primary.ts";
import type { RefreshPolicy } from "../../src/transfer/refresh-policy.ts";
import { Secondary, type SecondaryOptions } from "../../src/transfer/secondary.ts";
import type { TransferEvent } from "../../src/transfer/transfer-events.ts";
import type { OpenTransferSource, TransferState } from "../../src/transfer/transfer-state.ts";
import { FakeClock, settle } from "../gateway/fake-clock.ts";
import { realCompiler, realStages } from "../gateway/real-stages.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

export const WEB = "web.shop.svc.clusterset.local";

/** A primary's answers to transfers, with latency and faults in the test's hands. */
export class FakeSource implements OpenTransferSource {
  /** The `maximumAge` of each state that was asked for. */
  readonly states: number[] = [];
  /** The hash of each image that was asked for. */
  readonly images: string[] = [];
  /** The hash of each image that was opened. */
  readonly opened: string[] = [];
  readonly dropped: string[] = [];
  /** Requests that were called off. */
  givenUp = 0;
  /** Milliseconds until an answer comes. */
  stateLatency = 0;
  imageLatency = 0;
  /** What is thrown instead of answering. */
  failure: Error | undefined;
  imageFailure: Error | undefined;
  /** What becomes of states and of images on their way; `gone` is an image that is served no more. */
  changeState: (state: TransferState) => TransferState = (state) => state;
  changeImage: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | "gone" = (bytes) => bytes;
  /** What becomes of the body of an image that is opened. */
  changeBody: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | ReadableStream | Error = (
    bytes,
  ) => bytes;
  /** Whether a state is kept for as long as it may be, as a cache that several secondaries share does. */
  keeps = false;
  #kept: TransferState | undefined;
  /** Requests that never get an answer, as those of a request that was cancelled in a Worker. */
  hangs = false;
  readonly #primary: Primary;
  readonly #clock: FakeClock;

  constructor(primary: Primary, clock: FakeClock) {
    this.#primary = primary;
    this.#clock = clock;
  }

  async state(maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    this.states.push(maximumAge);
    await this.#pass(this.stateLatency, signal);
    if (this.keeps && this.#kept !== undefined && this.#clock.now() - this.#kept.at <= maximumAge)
      return this.#kept;
    if (this.failure !== undefined) throw this.failure;
    this.#kept = this.changeState(this.#primary.state());
    return this.#kept;
  }

  async image(contentHash: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.images.push(contentHash);
    return this.#image(contentHash, signal);
  }

  async openImage(contentHash: string, signal?: AbortSignal): Promise<Response | undefined> {
    this.opened.push(contentHash);
    const bytes = await this.#image(contentHash, signal);
    if (bytes === undefined) return undefined;
    const body = this.changeBody(bytes);
    if (body instanceof Error) throw body;
    return new Response(body, { headers: { "content-length": String(bytes.length) } });
  }

  drop(contentHash: string): void {
    this.dropped.push(contentHash);
  }

  async #image(
    contentHash: string,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    await this.#pass(this.imageLatency, signal);
    const failure = this.failure ?? this.imageFailure;
    if (failure !== undefined) throw failure;
    const bytes = this.#primary.image(contentHash);
    const changed = bytes && this.changeImage(bytes.slice());
    return changed === "gone" ? undefined : changed;
  }

  #pass(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.hangs) return new Promise(() => {});
    if (milliseconds === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.setTimer(milliseconds, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        this.givenUp++;
        reject(signal.reason);
      });
    });
  }
}

/** What a client sees of an answer. */
export interface Seen {
  readonly rcode: string;
  readonly addresses: readonly string[];
  readonly ttl: number | undefined;
  readonly errors: readonly number[];
  readonly freshness: number;
}

/** A primary and a secondary of it on one clock that stands still. The secondary's times are not spread. */
export async function openPair(
  policy: Partial<RefreshPolicy> = {},
  options: Partial<SecondaryOptions> = {},
  scopes: readonly Visibility[] = [],
) {
  const clock = new FakeClock();
  const gateway = await Gateway.open({
    store: createMemoryStore(),
    // The serial is not part of what an image is known by: content that comes back may have the one of before.
    stages: {
      ...realStages(),
      createCompiler: () => realCompiler({ serial: 1, ttl: 30 }),
    },
    clock,
    scopes,
    onEvent: () => {},
  });
  const primary = new Primary(gateway, () => clock.now());
  const source = new FakeSource(primary, clock);
  const events: TransferEvent[] = [];
  const open = (more: Partial<SecondaryOptions> = {}) =>
    new Secondary({
      source,
      stages: realStages(),
      clock,
      policy,
      random: () => 0.5,
      onEvent: (event) => void events.push(event),
      ...options,
      ...more,
    });
  const secondary = open();

  /** Waits for something, letting time pass as long as it takes. */
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let settled = false;
    const end = () => {
      settled = true;
    };
    promise.then(end, end);
    for (await settle(); !settled; await settle()) await clock.advance(1);
    return promise;
  };

  /** Asks as a host does. */
  const ask = async (name = WEB, type = "A", of = secondary): Promise<Seen> => {
    const fresh = of.freshen(clock.now());
    if (fresh !== undefined) await done(fresh);
    return see(of.answer(encodeQuery(name, type), undefined, clock.now())!);
  };
  /** Has a cluster serve `shop/web` with that many addresses. */
  const push = (clusterId: string, endpoints: number, leaseSeconds = 60) =>
    done(gateway.replace(clusterId, shopSnapshot(clusterId, endpoints), leaseSeconds));

  return { clock, gateway, primary, source, secondary, events, open, done, ask, push };
}

/** A pair whose secondary has just taken over an image, and did not ask since. */
export async function openFresh(policy: Partial<RefreshPolicy> = {}) {
  const pair = await openPair(policy);
  await pair.push("west", 2);
  await pair.ask();
  pair.source.states.length = 0;
  pair.source.images.length = 0;
  return pair;
}

/** Numbers that look random, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = (seed % 0x7ffffffe) + 1;
  return () => {
    state = (state * 48_271) % 0x7fffffff;
    return (state - 1) / 0x7fffffff;
  };
}

function see({ bytes, freshness }: { readonly bytes: Uint8Array; readonly freshness: number }): Seen {
  const decoded = decode(Buffer.from(bytes));
  const answers = (decoded.answers ?? []) as { data: string; ttl: number }[];
  return {
    rcode: (decoded as unknown as { rcode: string }).rcode,
    addresses: answers.map(({ data }) => data).sort(),
    ttl: answers[0]?.ttl,
    errors: extendedErrors(bytes),
    freshness,
  };
}
