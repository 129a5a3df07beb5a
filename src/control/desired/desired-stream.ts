import { DesiredLine } from "../../snapshot/desired/desired-line.ts";
import { LineSplitter } from "../../snapshot/lines/line-splitter.ts";
import { LinesError } from "../../snapshot/lines/lines-error.ts";
import { SourceError, type SyncLogger } from "../../sync/object-source.ts";
import { type BackoffLimits, backoffPause, pause } from "../../sync/pacing.ts";
import { GatewayError } from "../../sync/push/gateway-error.ts";
import type { GatewayRequests } from "../../sync/push/gateway-requests.ts";
import { type DesiredState, DesiredStateError } from "./desired-state.ts";

/** What the stream is read with. */
export interface DesiredStreamOptions {
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
const LONGEST_LINE = 4 * 1024 * 1024;
const DECODER = new TextDecoder("utf-8", { fatal: true });

/**
 * Follows a cluster's desired state at one gateway, and at the next one if that fails; resumes where it was. Positions belong to one gateway,
 * so another one begins with a snapshot. Resolves when the signal aborts.
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
      if (gateways.length > 1 || isMalformed) state.forget();
      await pause(backoffPause(failures, options.backoff ?? (isPersons ? SLOW_BACKOFF : BACKOFF)), signal);
    }
  }
}

/** How often a desired state is asked for that is read once: as a push with `--once` is tried. */
const MOST_ATTEMPTS = 5;

/**
 * Reads a cluster's desired state once, from the first gateway that has it. What time may fix is tried again a few times.
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
  { clusterId, leaseSeconds, state, touched }: DesiredStreamOptions,
  gateway: GatewayRequests,
  signal: AbortSignal,
  whole: () => void,
): Promise<void> {
  const body = await gateway.openDesired(clusterId, state.position, leaseSeconds, signal);
  const splitter = new LineSplitter(LONGEST_LINE);
  state.begin();
  for await (const piece of body) {
    for (const bytes of splitter.feed(piece as Uint8Array)) {
      const keys = state.take(readLine(bytes, splitter.lines));
      if (state.position !== undefined) whole();
      if (keys !== undefined) touched(keys);
    }
  }
}

function readLine(bytes: Uint8Array, line: number): DesiredLine {
  let value: unknown;
  try {
    value = JSON.parse(DECODER.decode(bytes));
  } catch {
    throw new DesiredStateError(`line ${line} is not JSON`);
  }
  const read = DesiredLine.safeParse(value);
  if (read.success) return read.data;
  throw new DesiredStateError(
    `line ${line} is not a line of a desired state: ${read.error.issues[0]?.message ?? ""}`,
  );
}
