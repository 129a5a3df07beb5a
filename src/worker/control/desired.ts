import * as z from "zod";
import { setOrDelete } from "../../extract/fields.ts";
import {
  type DesiredCondition,
  type DesiredImport,
  DesiredLine,
  type DesiredSlice,
} from "../../snapshot/desired-line.ts";
import { LineSplitter, LinesError } from "../../snapshot/lines/json-syntax.ts";
import { ClusterId, objectKey, text } from "../../snapshot/schema.ts";
import { GatewayError } from "../gateway-error.ts";
import type { GatewayRequests } from "../gateway-requests.ts";
import { SourceError, type SyncLogger } from "../object-source.ts";
import { type BackoffLimits, backoffPause, pause } from "../pacing.ts";

/** One slice of a service with its source cluster. */
export interface NamedSlice {
  readonly cluster: string;
  readonly slice: string;
  readonly desired: DesiredSlice;
}

/** What the gateway desires under one `<namespace>/<name>`. */
export interface DesiredService {
  readonly import: DesiredImport | undefined;
  readonly slices: readonly NamedSlice[];
  /** Of the cluster's own ServiceExport; undefined if the gateway knows none. */
  readonly conditions: readonly DesiredCondition[] | undefined;
}

/** A line of the desired state at a place where it cannot be, or a leap in it. */
export class DesiredStateError extends Error {}

/** A line that this version cannot read, of a part of what is desired under a key. */
interface UnreadableLine {
  readonly unreadable: readonly [key: string, part: string];
}

/** A line that counts from the next `position` on. */
type StagedLine =
  | Extract<DesiredLine, { import: string } | { service: string } | { export: string }>
  | UnreadableLine;

/** No cluster id is like it. */
const IMPORT = "";

/**
 * A cluster's desired state as its gateway last gave it whole. Lines are staged, and count from the next
 * `position` on. Moments are milliseconds of a monotonic clock.
 */
export class DesiredState {
  /**
   * Where to resume; undefined before the first whole state, and where the next stream must begin with a
   * snapshot. What is desired stays until then.
   */
  position: string | undefined;
  /** Whether there was a whole state once. */
  isKnown = false;
  readonly #clock: () => number;
  readonly #expiries = new Map<string, number>();
  readonly #graceUntil: number;
  #live: ReadonlySet<string> = new Set();
  /** Whether the stream has named leases, and whether something stays because it has not. */
  #hasLeases = false;
  #isWithheld = false;
  /** By key, then by part: the last line of the import, of the conditions, and of each slice. */
  readonly #lines = new Map<string, Map<string, StagedLine>>();
  /**
   * By key: the clusters whose slices the gateway has removed by a line of its own since the last snapshot;
   * `IMPORT` for the import.
   */
  readonly #removed = new Map<string, Set<string>>();
  #staged: StagedLine[] = [];
  #start: "snapshot" | "changes" | undefined;

  /**
   * @param grace milliseconds for which clusters that the state has never named count as live, such as after
   * a restart of the worker
   */
  constructor(clock: () => number, grace: number) {
    this.#clock = clock;
    this.#graceUntil = clock() + grace;
  }

  /** A new stream begins: what was staged and not finished is dropped. */
  begin(): void {
    this.#staged = [];
    this.#start = undefined;
    // The gateway may know less than before: what it does not name is unknown until it names leases.
    this.#hasLeases = false;
  }

  /**
   * Takes the next line.
   * @returns keys whose state may have changed, or `all`; undefined while lines are staged
   * @throws {DesiredStateError} if the line cannot be here
   */
  take(line: DesiredLine | UnreadableLine): ReadonlySet<string> | "all" | undefined {
    if ("start" in line) {
      if (this.#start !== undefined) throw new DesiredStateError("a second start in one stream");
      if (line.start === "changes" && this.position === undefined)
        throw new DesiredStateError("changes without a state that they belong to");
      this.#start = line.start;
      return undefined;
    }
    if (this.#start === undefined) throw new DesiredStateError("the stream does not begin with start");
    if ("leases" in line) return this.#renew(line.leases);
    if (!("position" in line)) {
      this.#staged.push(line);
      return undefined;
    }
    const isWhole = this.#start === "snapshot";
    if (isWhole) {
      this.#lines.clear();
      this.#removed.clear();
    }
    const touched = this.#change();
    this.#start = "changes";
    this.#staged = [];
    this.position = line.position;
    this.isKnown = true;
    return isWhole ? "all" : touched;
  }

  /**
   * Whether there is something to act on: a state, or none for so long that leases of other clusters have
   * expired (KEP-1645, Endpoint TTL).
   */
  get isUsable(): boolean {
    return this.isKnown || this.#clock() >= this.#graceUntil;
  }

  /**
   * Whether the state says all that is desired under a key: it was whole once, and none of the key's lines is
   * unreadable.
   */
  knows(key: string): boolean {
    const lines = [...(this.#lines.get(key)?.values() ?? [])];
    return this.isKnown && !lines.some((line) => "unreadable" in line);
  }

  /**
   * What is desired under a key that the state knows. Slices of clusters whose lease expired are not, but for
   * those of `own`.
   */
  service(key: string, own: string): DesiredService {
    const now = this.#clock();
    const lines = [...(this.#lines.get(key)?.values() ?? [])];
    const slices = lines.filter((line) => "service" in line) as NamedSlice[];
    return {
      import: lines.find((line) => "import" in line)?.desired ?? undefined,
      slices: slices.filter(({ cluster }) => cluster === own || this.#isLive(cluster, now)),
      conditions: lines.find((line) => "export" in line)?.conditions ?? undefined,
    };
  }

  /**
   * Whether what a key has of a cluster may be removed because the state does not name it: the gateway
   * removed it by a line of its own, or holds the cluster's lease, so that its silence is knowledge, or the
   * last lease that was seen has expired.
   */
  mayRemove(key: string, clusterId: string): boolean {
    if (!this.knows(key)) return !this.#isLive(clusterId, this.#clock());
    const removed = this.#removed.get(key);
    if (removed?.has(IMPORT) === true || removed?.has(clusterId) === true) return true;
    if (!this.#isLive(clusterId, this.#clock())) return true;
    if (!this.#hasLeases) this.#isWithheld = true;
    return this.#hasLeases && this.#live.has(clusterId);
  }

  /** Nothing of the key is left in the cluster, so that its removals need not be remembered. */
  settled(key: string): void {
    this.#removed.delete(key);
  }

  /** All keys that have a desired state. */
  keys(): IterableIterator<string> {
    return this.#lines.keys();
  }

  /** The next moment at which a lease or the grace ends; Infinity if there is none. */
  nextExpiry(): number {
    const now = this.#clock();
    const ahead = [this.#graceUntil, ...this.#expiries.values()].filter((moment) => moment > now);
    return Math.min(Number.POSITIVE_INFINITY, ...ahead);
  }

  #isLive(clusterId: string, now: number): boolean {
    return (this.#expiries.get(clusterId) ?? this.#graceUntil) > now;
  }

  #renew(leases: Readonly<Record<string, number>>): "all" | undefined {
    const now = this.#clock();
    const before = this.#live;
    this.#live = new Set(Object.keys(leases));
    const isChanged =
      before.size !== this.#live.size ||
      [...this.#live].some((id) => !before.has(id) || !this.#isLive(id, now));
    for (const [clusterId, seconds] of Object.entries(leases))
      this.#expiries.set(clusterId, now + seconds * 1000);
    const isDue = isChanged || this.#isWithheld;
    this.#hasLeases = true;
    this.#isWithheld = false;
    return isDue ? "all" : undefined;
  }

  #noteRemoval(key: string, line: StagedLine): void {
    if ("export" in line || "unreadable" in line) return;
    const removed = this.#removed.get(key) ?? new Set<string>();
    const of = "import" in line ? IMPORT : line.cluster;
    if (line.desired === null) this.#removed.set(key, removed.add(of));
    else removed.delete(of);
  }

  #change(): ReadonlySet<string> {
    const touched = new Set<string>();
    for (const line of this.#staged) {
      const [key, part, isGone] = partOf(line);
      touched.add(key);
      this.#noteRemoval(key, line);
      const lines = this.#lines.get(key) ?? new Map<string, StagedLine>();
      setOrDelete(lines, part, isGone ? undefined : line);
      setOrDelete(this.#lines, key, lines.size === 0 ? undefined : lines);
    }
    return touched;
  }
}

/**
 * The key of a line, its part of what is desired there, and whether it removes that. A slice's part has a
 * slash.
 */
function partOf(line: StagedLine): readonly [key: string, part: string, isGone: boolean] {
  if ("unreadable" in line) return [...line.unreadable, false];
  if ("import" in line) return [line.import, "import", line.desired === null];
  if ("export" in line) return [line.export, "export", line.conditions === null];
  return [line.service, `${line.cluster}/${line.slice}`, line.desired === null];
}

/** What the stream is read with. */
interface DesiredStreamOptions {
  readonly clusterId: string;
  /** Of the cluster's own lease: a stream that is silent for half of it is lost. */
  readonly leaseSeconds: number;
  /** The first one that answers is followed. */
  readonly gateways: readonly GatewayRequests[];
  readonly state: DesiredState;
  /** Keys whose desired state may have changed. */
  readonly touched: (keys: ReadonlySet<string> | "all") => void;
  readonly logger: SyncLogger;
  readonly backoff?: BackoffLimits;
}

const BACKOFF: BackoffLimits = { first: 500, most: 30_000 };
/** Rejections that an operator must fix. */
const SLOW_BACKOFF: BackoffLimits = { first: 5_000, most: 60_000 };
/** Milliseconds. */
const SHORTEST_STREAM = 1_000;
/** Unreadable lines of a stream that are logged. */
const MOST_LOGGED = 10;
const LONGEST_LINE = 4 * 1024 * 1024;
const DECODER = new TextDecoder("utf-8", { fatal: true });

/**
 * Follows a cluster's desired state at one gateway, and at the next one if that fails; resumes where it was.
 * Positions belong to one gateway, so another one begins with a snapshot. Resolves when the signal aborts.
 */
export async function followDesiredState(options: DesiredStreamOptions, signal: AbortSignal): Promise<void> {
  const { gateways, state, logger } = options;
  let failures = 0;
  for (let index = 0; !signal.aborted; ) {
    const gateway = gateways[index % gateways.length]!;
    try {
      const begun = performance.now();
      await readStream(options, gateway, signal, () => {
        failures = 0;
      });
      // The gateway ends each stream after minutes, so that credentials are checked again.
      if (performance.now() - begun < SHORTEST_STREAM) await pause(SHORTEST_STREAM, signal);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      const message = error instanceof Error ? error.message : String(error);
      logger.warn(
        { gateway: gateway.name, failures, code: (error as { code?: unknown }).code },
        `the desired state cannot be read: ${message}`,
      );
      const isPersons = error instanceof GatewayError && error.remedy === "person";
      index++;
      const isMalformed = error instanceof DesiredStateError || error instanceof LinesError;
      if (gateways.length > 1 || isMalformed) state.position = undefined;
      await pause(backoffPause(failures, options.backoff ?? (isPersons ? SLOW_BACKOFF : BACKOFF)), signal);
    }
  }
}

/** How often a desired state that is read once is requested: as a push with `--once` is tried. */
const MOST_ATTEMPTS = 5;

/**
 * Reads a cluster's desired state once, from the first gateway that has it. What time may fix is tried again
 * a few times.
 * @throws {GatewayError} of a gateway if none has it
 * @throws {SourceError} `STOPPED` if the signal aborts before
 */
export async function readDesiredState(
  options: Omit<DesiredStreamOptions, "touched">,
  signal: AbortSignal,
): Promise<void> {
  const { gateways, state, logger, backoff = BACKOFF } = options;
  for (let attempt = 1; ; attempt++) {
    const errors: unknown[] = [];
    for (const gateway of gateways) {
      const done = new AbortController();
      const touched = () => state.isKnown && done.abort();
      try {
        await readStream({ ...options, touched }, gateway, AbortSignal.any([signal, done.signal]), () => {});
        errors.push(new DesiredStateError(`${gateway.name} ended the stream before the state was whole`));
      } catch (error) {
        errors.push(error);
      }
      if (state.isKnown) return;
      if (signal.aborted)
        throw new SourceError("STOPPED", "stopped before the desired state was read", false);
    }
    const lasting = errors.find((error) => error instanceof GatewayError && error.remedy !== "soon");
    if (lasting !== undefined || attempt === MOST_ATTEMPTS) throw lasting ?? errors[0];
    logger.warn({ failures: attempt }, `the desired state cannot be read yet: ${String(errors[0])}`);
    await pause(backoffPause(attempt, backoff), signal);
  }
}

async function readStream(
  { clusterId, leaseSeconds, state, touched, logger }: DesiredStreamOptions,
  gateway: GatewayRequests,
  signal: AbortSignal,
  whole: () => void,
): Promise<void> {
  const body = await gateway.openDesired(clusterId, state.position, leaseSeconds, signal);
  const splitter = new LineSplitter(LONGEST_LINE);
  let unreadable = 0;
  state.begin();
  for await (const piece of body) {
    for (const bytes of splitter.feed(piece as Uint8Array)) {
      const line = readLine(bytes, splitter.lines);
      if ("unreadable" in line && ++unreadable <= MOST_LOGGED)
        logger.warn(
          { gateway: gateway.name, key: line.unreadable[0] },
          `${line.message}; the objects stay as they are`,
        );
      const keys = state.take(line);
      if (state.position !== undefined) whole();
      if (keys !== undefined) touched(keys);
    }
  }
}

/** The part of a line that says of what it is. */
const LineSubject = z.union([
  z.object({ import: objectKey }),
  z.object({ service: objectKey, cluster: ClusterId, slice: text(40) }),
  z.object({ export: objectKey }),
]);

/** @throws {DesiredStateError} if it is not to be seen of what the line is */
function readLine(bytes: Uint8Array, line: number): DesiredLine | (UnreadableLine & { message: string }) {
  let value: unknown;
  try {
    value = JSON.parse(DECODER.decode(bytes));
  } catch {
    throw new DesiredStateError(`line ${line} is not JSON`);
  }
  const read = DesiredLine.safeParse(value);
  if (read.success) return read.data;
  const message = `line ${line} is not a line of a desired state: ${read.error.issues[0]?.message ?? ""}`;
  const subject = LineSubject.safeParse(value).data;
  if (subject === undefined) throw new DesiredStateError(message);
  const [key, part] = partOf({ ...subject, desired: null, conditions: null });
  return { unreadable: [key, part], message };
}
