import { type DecodedPacket, decode } from "dns-packet";
import { Hono } from "hono";
import { Reader } from "../../src/database/reader.ts";
import type { NameSettings } from "../../src/gateway/keyed-scope.ts";
import { TRANSFER } from "../../src/http/route-table.ts";
import { createTransferRoutes, type TransferDependencies } from "../../src/http/transfer.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
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
import { FakeClock, settle } from "../gateway/fake-clock.ts";
import { putSnapshot } from "../gateway/open-gateway.ts";
import { memoryDatabase, openKeyed, REAL_QUERIES } from "../gateway/open-keyed.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

export const WEB = "web.shop.svc.clusterset.local";
export const MEBIBYTE = 1024 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

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
    put: (snapshot: ClusterSnapshot, leaseSeconds = 60) =>
      inTurns(clock, putSnapshot(held.gateway, snapshot, { leaseSeconds })),
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
      stages: REAL_QUERIES,
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
  const ask = async (name = WEB, type = "A", of = secondary) => {
    await done(of.freshen(clock.now()) ?? Promise.resolve());
    const answer = of.answer(encodeQuery(name, type), undefined, clock.now());
    return see((await done(Promise.resolve(answer)))!);
  };
  /** Has a cluster serve `shop/web` with that many addresses. */
  const push = (clusterId: string, endpoints: number, leaseSeconds = 60) =>
    held.put(shopSnapshot(clusterId, endpoints), leaseSeconds);

  const { gateway } = held;
  return { clock, held, gateway, source, secondary, events, open, done, ask, push };
}

/** Longer than anything takes that a test waits for, in milliseconds of its clock. */
const NEVER = 100_000;

/**
 * Waits for something, letting time pass as long as it takes.
 * @param step 0 for what needs turns, and no time
 * @throws {Error} where it never ends
 */
export async function passUntil<Result>(
  clock: FakeClock,
  promise: Promise<Result>,
  step = 1,
): Promise<Result> {
  const begun = clock.now();
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  for (await settle(); !settled; await settle()) {
    if (clock.now() - begun > NEVER) throw new Error(`nothing has ended after ${NEVER} ms`);
    await clock.advance(step);
  }
  return promise;
}

/** Waits for something that needs turns, and no time. */
export const inTurns = <Result>(clock: FakeClock, promise: Promise<Result>) => passUntil(clock, promise, 0);

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

/** What a client sees of an answer. */
function see({ bytes, freshness }: Answer) {
  const { rcode, answers = [] } = decode(Buffer.from(bytes)) as DecodedPacket & { rcode: string };
  const records = answers as { data: string; ttl: number }[];
  return {
    rcode,
    addresses: records.map(({ data }) => data).sort(),
    ttl: records[0]?.ttl,
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
