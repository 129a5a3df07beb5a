import { decode } from "dns-packet";
import { Gateway } from "../../src/gateway/gateway.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { Primary, type ScopeTransfer, type SentPart } from "../../src/transfer/primary.ts";
import type { RefreshPolicy } from "../../src/transfer/refresh-policy.ts";
import { Secondary, type SecondaryOptions } from "../../src/transfer/secondary.ts";
import type { TransferEvent } from "../../src/transfer/transfer-events.ts";
import type {
  NamedBytes,
  PartKind,
  TransferSource,
  TransferState,
} from "../../src/transfer/transfer-state.ts";
import { FakeClock, settle } from "../gateway/fake-clock.ts";
import { putSnapshot } from "../gateway/pushes.ts";
import { realCompiler, realStages } from "../gateway/real-stages.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import type { Forged } from "./parts/forged.ts";

export const WEB = "web.shop.svc.clusterset.local";

type ChangePart = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | "gone";

/** A primary's answers to transfers, with latency and errors in the test's hands. */
export class FakeSource implements TransferSource {
  /** The `maximumAge` of each state that was asked for. */
  readonly states: number[] = [];
  /** The hash of each root, and of each segment, that was asked for. */
  readonly roots: string[] = [];
  readonly segments: string[] = [];
  /** The hashes of parts that the secondary had when it asked. */
  readonly since: (string | undefined)[] = [];
  readonly dropped: string[] = [];
  /** Requests that were called off. */
  givenUp = 0;
  /** Milliseconds until an answer comes. */
  stateLatency = 0;
  rootLatency = 0;
  segmentLatency = 0;
  /** What is thrown instead of answering. */
  failure: Error | undefined;
  rootFailure: Error | undefined;
  /** What becomes of states, roots and segments on their way; `gone` is a part that is served no more. */
  changeState: (state: TransferState) => TransferState = (state) => state;
  changeRoot: ChangePart = (bytes) => bytes;
  changeSegment: ChangePart = (bytes) => bytes;
  /** Whether a state is kept for as long as it may be, as a cache that several secondaries share does. */
  keeps = false;
  #kept: TransferState | undefined;
  /** Requests that never get an answer, as those of a request that was cancelled in a Worker. */
  hangs = false;
  readonly #primary: ScopeTransfer;
  readonly #clock: FakeClock;

  constructor(primary: Primary, clock: FakeClock) {
    this.#primary = primary.of("")!;
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

  /** A generation that somebody else made, served beside the primary's. */
  forged: Forged | undefined;

  async root(hash: string, since?: NamedBytes, signal?: AbortSignal) {
    this.roots.push(hash);
    await this.#pass(this.rootLatency, signal);
    if (hash === this.forged?.hash) return { bytes: this.forged.document, segments: [] };
    const bytes = this.#changed(this.#primary.root(hash, ""), since, this.changeRoot);
    return bytes && { bytes, segments: [] };
  }

  async segment(hash: string, since?: NamedBytes, signal?: AbortSignal) {
    this.segments.push(hash);
    await this.#pass(this.segmentLatency, signal);
    if (hash === this.forged?.segment?.hash) return this.forged.segment.bytes;
    return this.#changed(this.#primary.segment(hash, ""), since, this.changeSegment);
  }

  drop(kind: PartKind, hash: string): void {
    this.dropped.push(`${kind} ${hash}`);
  }

  #changed(part: SentPart | undefined, since: NamedBytes | undefined, change: ChangePart) {
    this.since.push(since?.hash);
    const failure = this.failure ?? this.rootFailure;
    if (failure !== undefined) throw failure;
    const changed = part && change(part.bytes.slice());
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
    // The serial is not part of what a root is known by: content that comes back may have the one of before.
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
  const done = <Result>(promise: Promise<Result>): Promise<Result> => passUntil(clock, promise);

  /** Asks as a host does. */
  const ask = (name = WEB, type = "A", of = secondary): Promise<Seen> => askSecondary(of, clock, name, type);
  /** Has a cluster serve `shop/web` with that many addresses. */
  const push = (clusterId: string, endpoints: number, leaseSeconds = 60) =>
    done(putSnapshot(gateway, shopSnapshot(clusterId, endpoints), { leaseSeconds }));

  return { clock, gateway, primary, source, secondary, events, open, done, ask, push };
}

/** Longer than anything takes that a test waits for, in milliseconds of its clock. */
const NEVER = 100_000;

/** Waits for something, letting time pass as long as it takes. @throws {Error} where it never ends */
async function passUntil<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  const begun = clock.now();
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  for (await settle(); !settled; await settle()) {
    if (clock.now() - begun > NEVER) throw new Error(`nothing has ended after ${NEVER} ms`);
    await clock.advance(1);
  }
  return promise;
}

/** Asks a secondary as a host does. */
export async function askSecondary(
  secondary: Secondary,
  clock: FakeClock,
  name = WEB,
  type = "A",
): Promise<Seen> {
  const fresh = secondary.freshen(clock.now());
  if (fresh !== undefined) await passUntil(clock, fresh);
  const answer = secondary.answer(encodeQuery(name, type), undefined, clock.now());
  return see((answer instanceof Promise ? await passUntil(clock, answer) : answer)!);
}

/** A pair whose secondary has just taken over a generation, and did not ask since. */
export async function openFresh(policy: Partial<RefreshPolicy> = {}) {
  const pair = await openPair(policy);
  await pair.push("west", 2);
  await pair.ask();
  pair.source.states.length = 0;
  pair.source.roots.length = 0;
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
