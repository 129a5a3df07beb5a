import { decode } from "dns-packet";
import { Hono } from "hono";
import { Reader } from "../../src/database/reader.ts";
import type { QueryStages } from "../../src/gateway/gateway-types.ts";
import type { NameSettings } from "../../src/gateway/keyed-scope.ts";
import { TRANSFER } from "../../src/http/route-table.ts";
import { createTransferRoutes, type TransferDependencies } from "../../src/http/transfer.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { PartMemory } from "../../src/transfer/part-cache.ts";
import type { PartKind } from "../../src/transfer/part-forms.ts";
import { Primary, type ScopeTransfer } from "../../src/transfer/primary.ts";
import { DEFAULT_REFRESH_POLICY, type RefreshPolicy } from "../../src/transfer/refresh-schedule.ts";
import { Secondary, type SecondaryOptions } from "../../src/transfer/secondary.ts";
import {
  parseTransferState,
  type TransferEvent,
  type TransferSource,
  type TransferState,
} from "../../src/transfer/transfer-state.ts";
import { stage, wholeLines } from "../database/pushing.ts";
import { FakeClock, settle } from "../gateway/fake-clock.ts";
import { memoryDatabase, openKeyed } from "../gateway/open-keyed.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

export const WEB = "web.shop.svc.clusterset.local";
export const MEBIBYTE = 1024 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/** Answers queries as a secondary does with default settings. */
export const READER_STAGES: QueryStages = {
  resolve: (query, { world, ...context }) =>
    resolve(query, { ...context, world, rotation: 0, outside: "refuse" }),
  notReady,
};

/** A primary's answers to transfers, with latency and errors in the test's hands. */
export class FakeSource implements TransferSource {
  /** The `maximumAge` of each state that was asked for. */
  readonly states: number[] = [];
  /** The path of each part that was asked for. */
  readonly parts: string[] = [];
  readonly dropped: string[] = [];
  /** Requests that were called off. */
  givenUp = 0;
  /** Milliseconds until an answer comes. */
  stateLatency = 0;
  partLatency: () => number = () => 0;
  /** What is thrown instead of answering. */
  failure: Error | undefined;
  partFailure: Error | undefined;
  /** What becomes of states and parts on their way; `gone` is a part that is not there any more. */
  changeState: (state: TransferState) => TransferState = (state) => state;
  changePart: (bytes: Bytes, path: string) => Bytes | "gone" = (bytes) => bytes;
  /**
   * Whether what was given is kept for as long as it may be, as a cache that several secondaries share does.
   */
  keeps = false;
  #kept: TransferState | undefined;
  readonly #keptParts = new Map<string, Bytes>();
  /** Requests that never get an answer, as those of a request that was cancelled in a Worker. */
  hangs = false;
  readonly #primary: () => ScopeTransfer;
  readonly #clock: FakeClock;

  constructor(primary: () => ScopeTransfer, clock: FakeClock) {
    this.#primary = primary;
    this.#clock = clock;
  }

  /** The kinds of parts that were asked for. */
  get kinds(): string[] {
    return this.parts.map((path) => path.slice(0, path.indexOf("?")));
  }

  forget(): void {
    this.states.length = this.parts.length = 0;
  }

  async state(maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    this.states.push(maximumAge);
    await this.#pass(this.stateLatency, signal);
    if (this.keeps && this.#kept !== undefined && this.#clock.now() - this.#kept.at < maximumAge)
      return this.#kept;
    if (this.failure !== undefined) throw this.failure;
    const sent = JSON.parse(JSON.stringify(this.#primary().state()));
    this.#kept = this.changeState(parseTransferState(sent));
    return this.#kept;
  }

  async part(path: string, signal?: AbortSignal): Promise<Bytes | undefined> {
    const kept = this.keeps ? this.#keptParts.get(path) : undefined;
    if (kept !== undefined) return kept.slice();
    this.parts.push(path);
    const latency = this.partLatency();
    // Both the way there and the way back take time.
    await this.#pass(latency / 2, signal);
    const failure = this.failure ?? this.partFailure;
    if (failure !== undefined) throw failure;
    const [kind, text] = path.split("?") as [PartKind, string];
    if (!(`GET /${kind}` in TRANSFER.routes)) throw new Error(`no such part: ${path}`);
    const query = new URLSearchParams(text);
    const bytes = await this.#primary().part(kind, (name) => query.get(name) ?? "");
    await this.#pass(latency / 2, signal);
    const changed = bytes && this.changePart(bytes.slice(), path);
    if (changed === undefined || changed === "gone") return undefined;
    if (this.keeps) this.#keptParts.set(path, changed);
    return changed.slice();
  }

  drop(path: string): void {
    this.#keptParts.delete(path);
    this.dropped.push(path);
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

/** A primary over rows, which can be started again, with what readers reach of it. */
export function openPrimary(
  clock: FakeClock,
  scopes: readonly Visibility[] = [],
  names: Partial<NameSettings> = {},
) {
  const { zones = { ttl: 30 }, merging = {} } = names;
  const database = memoryDatabase();
  const start = () => {
    const gateway = openKeyed({ database, clock, scopes, names: { zones, merging } });
    const primary = new Primary({
      gateway: gateway.state,
      turns: gateway.turns,
      reader: new Reader(database, () => {}),
      settings: JSON.stringify(zones),
      clock: () => clock.now(),
    });
    return { gateway, primary };
  };
  const held = { ...start(), database };
  return Object.assign(held, {
    /** Another process goes on from the database. */
    restart: () => Object.assign(held, start()),
    /** Has a cluster push a snapshot. */
    put: async (snapshot: ClusterSnapshot, leaseSeconds = 60) => {
      const reader = new Reader(database, () => {});
      const staged = stage(reader, snapshot.clusterId, "whole", wholeLines(snapshot));
      const push = held.gateway.push(staged, { leaseSeconds });
      return (await inTurns(clock, push)).acknowledgement;
    },
  });
}

/** A primary and a secondary of it on one clock that stands still. The secondary's times are not spread. */
export async function openPair(
  policy: Partial<RefreshPolicy> = {},
  options: Partial<SecondaryOptions> = {},
  scopes: readonly Visibility[] = [],
  names: Partial<NameSettings> = {},
) {
  const clock = new FakeClock();
  const held = openPrimary(clock, scopes, names);
  const source = new FakeSource(() => held.primary.of("")!, clock);
  const events: TransferEvent[] = [];
  const open = (more: Partial<SecondaryOptions> = {}) =>
    new Secondary({
      source,
      stages: READER_STAGES,
      memory: new PartMemory(16 * MEBIBYTE),
      clock,
      policy: { ...DEFAULT_REFRESH_POLICY, ...policy },
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
    held.put(shopSnapshot(clusterId, endpoints), leaseSeconds);

  const { gateway } = held;
  return { clock, held, gateway, source, secondary, events, open, done, ask, push };
}

/** Longer than anything takes that a test waits for, in milliseconds of its clock. */
const NEVER = 100_000;

/** Waits for something, letting time pass as long as it takes. @throws {Error} where it never ends */
export async function passUntil<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
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

/** Waits for something that needs turns, and no time. */
export async function inTurns<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  for (await settle(); !settled; await settle()) await clock.advance(0);
  return promise;
}

/** Asks a secondary as a host does, and gives what it answers. */
export async function answerOf(
  secondary: Secondary,
  clock: FakeClock,
  query: Bytes,
  view?: string,
): Promise<Bytes> {
  const fresh = secondary.freshen(clock.now());
  if (fresh !== undefined) await passUntil(clock, fresh);
  const answer = secondary.answer(query, view, clock.now());
  return (answer instanceof Promise ? await passUntil(clock, answer) : answer)!.bytes;
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

/** A pair whose secondary has just taken over a state, and did not ask since. */
export async function openFresh(policy: Partial<RefreshPolicy> = {}) {
  const pair = await openPair(policy);
  await pair.push("west", 2);
  await pair.ask();
  pair.source.forget();
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

/** The primary's routes, at the path where they are. */
export function transferApp(
  clock: FakeClock,
  { gateway, database }: Pick<ReturnType<typeof openPrimary>, "gateway" | "database">,
  more: Partial<TransferDependencies> = {},
): Hono {
  const parts = { gateway: gateway.state, turns: gateway.turns, reader: new Reader(database, () => {}) };
  const routes = createTransferRoutes({ ...parts, settings: "", clock: () => clock.now(), ...more });
  return new Hono().route("/api/v1/transfer", routes);
}
