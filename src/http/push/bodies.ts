import type { Stage } from "../../database/stage.ts";
import { readAtMost } from "../../dns/bounded-body.ts";
import type { Clock, Turns } from "../../gateway/clock.ts";
import type { Limit } from "../../limits/counters.ts";
import { readJsonLine } from "../../snapshot/lines/json-syntax.ts";
import { LinesReader } from "../../snapshot/lines/lines-reader.ts";
import { DEFAULT_LINE_LIMITS, type LinesHeader, NDJSON_TYPE } from "../../snapshot/lines/patch-line.ts";
import { ApiError } from "../messages/errors.ts";
import { essence, JSON_TYPE } from "../messages/message.ts";

/** Bounds on one body. */
export interface BodyLimits {
  /** Bytes of a body as it is sent, compressed or not. */
  readonly pushSentBytes: number;
  /** Bytes of a body after decompression; and of all bodies of one cluster that are read at the same time. */
  readonly pushBytes: number;
  /** How many bytes one sent byte may become; checked from 1 MiB on. */
  readonly pushRatio: number;
  /** How deeply the JSON of a line may be nested. */
  readonly pushLevels: number;
  /** Members and elements of a body: the time to read it and the memory that it takes go by them. */
  readonly pushValues: number;
  /** Seconds without a byte after which the gateway gives a body up. */
  readonly pushIdleSeconds: number;
  /** Seconds until a whole body must have arrived. */
  readonly pushSeconds: number;
}

/** Bounds on the requests of the push API. */
export interface PushLimits extends BodyLimits {
  /**
   * Members and elements that one cluster may send each second in the long run; at once it may send two
   * bodies of the greatest size.
   */
  readonly pushValuesPerSecond: number;
  /** Bytes of all bodies together that are read at the same time. */
  readonly pushBytesInFlight: number;
  /**
   * The first bytes of each body, which do not count as `pushBytesInFlight`: a body of this size never waits
   * for another cluster.
   */
  readonly pushSmallBytes: number;
  /** Snapshots and deltas of one cluster at the same time. */
  readonly pushesInFlight: number;
  /** Requests of one cluster each second in the long run, renewals included, and at once. */
  readonly pushesPerSecond: number;
  readonly pushBurst: number;
}

/** Members and elements of one step, and steps of one turn. */
const VALUES_AT_ONCE = 256;
const MOST_STEPS = 64;
/** Characters of the database that take as long to read as one of these. */
const CHARACTERS_PER_VALUE = 16;

/** By what slow senders are given up. */
interface Pace {
  readonly limits: Pick<BodyLimits, "pushIdleSeconds" | "pushSeconds">;
  readonly setTimer: Clock["setTimer"];
}

/** How the lines of a body are taken. */
interface LinesReading extends Pace {
  readonly limits: BodyLimits;
  /** Counts what the body takes in the memory: the bytes that were sent, or decompressed if that is more. */
  readonly account: BodyAccount;
  readonly turns: Turns;
  /** Called with the members and elements of each line. */
  readonly work: (values: number) => void;
}

/**
 * Takes a body of lines, plain or compressed by gzip, each line as it arrives. Nothing is changed until the
 * caller applies the stage.
 * @param start called with the first line; may reject the body by throwing
 * @throws {ApiError} 400, 408, 413, 415, 429 or 503 @throws {LinesError} @throws {SnapshotError}
 */
export async function stageLines(
  request: Request,
  reading: LinesReading,
  start: (header: LinesHeader) => Stage,
): Promise<Stage> {
  const { limits, account, turns, work } = reading;
  const checkSent = atMost(limits.pushSentBytes, "sent", "limits.pushSentBytes");
  checkHead(request, NDJSON_TYPE, checkSent, ", one JSON value a line (docs/reference/push-api.md)");
  const reader = new LinesReader({ ...DEFAULT_LINE_LIMITS, lineLevels: limits.pushLevels });
  let stage: Stage | undefined;
  let values = 0;
  let sinceStep = 0;
  const begin = () => {
    if (reader.header !== undefined) stage ??= start(reader.header);
    return stage;
  };
  function* take(part: Uint8Array): Generator<void> {
    for (const line of reader.feed(part)) {
      values += line.values;
      if (values > limits.pushValues)
        throw new ApiError(
          "TOO_MANY_VALUES",
          `the body has more than ${limits.pushValues} members and elements`,
          { limit: "limits.pushValues" },
        );
      account.hold(line.values);
      work(line.values);
      const read = begin()!.apply(line);
      // A long line is several steps, and one that changes a large entry or row.
      for (
        sinceStep += line.values + read / CHARACTERS_PER_VALUE;
        sinceStep >= VALUES_AT_ONCE;
        sinceStep -= VALUES_AT_ONCE
      )
        yield;
    }
    begin();
  }
  const checks = pushChecks(checkSent, limits, account);
  for await (const part of readBytes(request, checks, reading)) await turns.run(take(part), MOST_STEPS);
  reader.finish();
  return begin()!;
}

/** The checks of a push, which count its bytes while it arrives. */
function pushChecks(
  checkSent: BodyChecks["sent"],
  { pushSentBytes, pushBytes, pushRatio }: BodyLimits,
  account: BodyAccount,
): BodyChecks {
  const checkPlain = atMost(pushBytes, "decompressed", "limits.pushBytes");
  let charged = 0;
  const charge = (bytes: number) => {
    if (bytes <= charged) return;
    const more = bytes - charged;
    charged = bytes;
    account.charge(more);
  };
  return {
    mostSent: pushSentBytes,
    sent: (sent) => {
      checkSent(sent);
      charge(Math.min(sent, pushBytes));
    },
    plain: (bytes, sent) => {
      checkPlain(bytes);
      charge(bytes);
      if (bytes > RATIO_FROM_BYTES && bytes > sent * pushRatio)
        throw new ApiError(
          "COMPRESSION_RATIO",
          `the body decompresses to more than ${pushRatio} times its size`,
          { limit: "limits.pushRatio" },
        );
    },
  };
}

/** A compression ratio says nothing about small bodies. */
const RATIO_FROM_BYTES = 1024 * 1024;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * Checks the Content-Type and the Content-Length before anything is read.
 * @param checkSent throws for more bytes than may be sent
 * @param hint follows the type in the message of an error
 * @throws {ApiError} 413 or 415
 */
function checkHead({ headers }: Request, type: string, checkSent: BodyChecks["sent"], hint = ""): void {
  const contentType = headers.get("content-type");
  const charset = CHARSET.exec(contentType ?? "")?.[1]?.toLowerCase() ?? "utf-8";
  if (contentType === null || essence(contentType) !== type || charset !== "utf-8")
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", `the Content-Type must be ${type} (UTF-8)${hint}`, {
      headers: { accept: type },
    });
  checkSent(Number(headers.get("content-length") ?? 0));
}

/** What is checked while a body arrives: each function throws to give it up. */
interface BodyChecks {
  /** How many bytes may be sent. */
  readonly mostSent: number;
  /** @param sent bytes that have arrived */
  sent(sent: number): void;
  /** @param bytes what they are decompressed, so far */
  plain(bytes: number, sent: number): void;
}

/**
 * The bytes of a body, decompressed. The body is received as fast as it is sent, whatever its reader does
 * meanwhile: only its sender can make it too slow, for the limits here as for those of the host.
 * @param pace Default: only that of the host
 * @throws {ApiError} 400, 408, 415, or what a check throws
 */
async function* readBytes(request: Request, checks: BodyChecks, pace?: Pace): AsyncGenerator<Uint8Array> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const isCompressed = encoding === "gzip" || encoding === "x-gzip";
  if (!isCompressed && encoding !== "identity")
    throw new ApiError("UNSUPPORTED_ENCODING", "the Content-Encoding must be gzip, or absent", {
      headers: { "accept-encoding": "gzip" },
    });
  if (request.body === null) return;
  let sent = 0;
  let failure: unknown;
  let slow: ReturnType<typeof watch> | undefined;
  let giveUp = () => {};
  const counted = request.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>(
      {
        start(controller) {
          giveUp = () => controller.error(new Error("the body is given up"));
          slow =
            pace &&
            watch(pace, (error) => {
              failure = error;
              controller.error(error);
            });
        },
        transform(part, controller) {
          slow?.arrived();
          sent += part.length;
          try {
            checks.sent(sent);
          } catch (error) {
            failure = error;
            throw error;
          }
          controller.enqueue(part);
        },
        flush: () => slow?.end(),
      },
      undefined,
      new ByteLengthQueuingStrategy({ highWaterMark: checks.mostSent }),
    ),
  );
  const plain = isCompressed ? counted.pipeThrough(new DecompressionStream("gzip") as GzipStream) : counted;
  const reader = plain.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw failure ?? unreadable(isCompressed);
      });
      if (done) return;
      bytes += value.length;
      checks.plain(bytes, sent);
      yield value;
    }
  } finally {
    slow?.end();
    // Also when the reader of these parts gave up: the sender should not go on. A decompressor ends by its
    // input: on Node it writes into a stream that was cancelled, and that ends the process.
    if (isCompressed) {
      reader.closed.catch(() => {});
      giveUp();
    } else await reader.cancel().catch(() => {});
  }
}

type GzipStream = ReadableWritablePair<Uint8Array, Uint8Array>;

/** @param limit the limit that counts, if it is one of the configuration */
function atMost(most: number, how: "sent" | "decompressed", limit?: Limit) {
  return (bytes: number): void => {
    // NaN is a Content-Length that is no number.
    if (!(bytes <= most))
      throw new ApiError("BODY_TOO_LARGE", `the body has more than ${most} bytes ${how}`, { limit });
  };
}

function unreadable(isCompressed: boolean): ApiError {
  return isCompressed
    ? new ApiError("INVALID_GZIP", "the body is not gzip, is cut off, or has trailing bytes")
    : new ApiError("UNREADABLE_BODY", "the body ended before it was complete");
}

/**
 * Counts the bytes of one body while the gateway holds them. A body that is rejected returns its room before
 * it is closed.
 */
export interface BodyAccount {
  /**
   * Counts further bytes.
   * @throws {ApiError} 429 where this cluster's bodies, 503 where all bodies together are too much
   */
  charge(bytes: number): void;
  /**
   * Counts further members and elements that were read of it.
   * @throws {ApiError} 503 where those of all bodies together are too many
   */
  hold(values: number): void;
  /** Gives back what was counted. */
  release(): void;
}

/**
 * All bodies that are read at the same time have at most the members and elements of so many that are as
 * large as they may be.
 */
const LARGEST_BODIES = 4;

type BudgetLimits = Pick<PushLimits, "pushBytes" | "pushBytesInFlight" | "pushSmallBytes" | "pushValues">;

/** The bytes of bodies that are read at the same time: of one cluster, and of all together. */
export class BodyBudget {
  readonly #limits: BudgetLimits;
  readonly #ofClusters = new Map<string, number>();
  #bytes = 0;
  #values = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /**
   * An account for one body of a cluster. Its first `pushSmallBytes` bytes count for the cluster alone, so
   * that bodies of other clusters never keep out a small one; `pushesInFlight` bounds how many there are.
   */
  open(clusterId: string): BodyAccount {
    const { pushBytes, pushBytesInFlight, pushSmallBytes, pushValues } = this.#limits;
    let bytes = 0;
    let values = 0;
    const shared = () => Math.max(0, bytes - pushSmallBytes);
    const add = (more: number) => {
      const before = shared();
      bytes += more;
      this.#bytes += shared() - before;
      const ofCluster = (this.#ofClusters.get(clusterId) ?? 0) + more;
      if (ofCluster === 0) this.#ofClusters.delete(clusterId);
      else this.#ofClusters.set(clusterId, ofCluster);
    };
    const release = () => {
      add(-bytes);
      this.#values -= values;
      values = 0;
    };
    // Bodies beside this one may arrive before its reader has ended: they must not be rejected for its bytes.
    const rejected = (limit: Parameters<typeof noRoom>[0]): ApiError => {
      release();
      return noRoom(limit);
    };
    return {
      charge: (more) => {
        add(more);
        if (shared() > 0 && this.#bytes > pushBytesInFlight) throw rejected("limits.pushBytesInFlight");
        if (this.#ofClusters.get(clusterId)! > pushBytes) throw rejected("limits.pushBytes");
      },
      hold: (more) => {
        values += more;
        this.#values += more;
        if (bytes > pushSmallBytes && this.#values > LARGEST_BODIES * pushValues)
          throw rejected("limits.pushBytesInFlight");
      },
      release,
    };
  }
}

function noRoom(limit: "limits.pushBytesInFlight" | "limits.pushBytes"): ApiError {
  if (limit === "limits.pushBytes")
    return new ApiError(
      "TOO_MANY_PUSHES",
      "the pushes of this cluster that are in progress are too large together",
      { headers: { "retry-after": "1" }, limit },
    );
  return new ApiError("BUSY", "too many pushes are being read: try again later", {
    headers: { "retry-after": "5" },
    limit,
  });
}

const SECOND = 1000;

/**
 * Gives up on a body whose sender is too slow. It counts seconds one by one, each with a timer of its own: a
 * process that was busy for a while counts one second and reads what has arrived meanwhile, before it blames
 * the sender.
 * @param giveUp called at most once
 */
function watch({ limits, setTimer }: Pace, giveUp: (error: ApiError) => void) {
  const { pushIdleSeconds, pushSeconds } = limits;
  let silent = 0;
  let seconds = 0;
  const next = () => setTimer(SECOND, tick);
  const tick = () => {
    silent++;
    seconds++;
    if (silent >= pushIdleSeconds)
      giveUp(tooSlow(`no byte of the body arrived for ${pushIdleSeconds} s`, "limits.pushIdleSeconds"));
    else if (seconds >= pushSeconds)
      giveUp(tooSlow(`the body took more than ${pushSeconds} s`, "limits.pushSeconds"));
    else cancel = next();
  };
  let cancel = next();
  return {
    arrived: () => {
      silent = 0;
    },
    end: () => cancel(),
  };
}

/** RFC 9110 section 15.5.9. */
function tooSlow(message: string, limit: "limits.pushIdleSeconds" | "limits.pushSeconds"): ApiError {
  return new ApiError("BODY_TOO_SLOW", message, { limit });
}

/**
 * Reads a JSON body of at most `most` bytes, plain or compressed by gzip.
 * @param pace Default: only that of the host
 * @throws {ApiError} 400, 408, 413 or 415 @throws {LinesError} saying what is wrong where
 */
export async function readJsonBody(request: Request, most: number, pace?: Pace): Promise<unknown> {
  const checks = { mostSent: most, sent: atMost(most, "sent"), plain: atMost(most, "decompressed") };
  checkHead(request, JSON_TYPE, checks.sent);
  // Longer bodies are rejected with 413 before.
  const bytes = (await readAtMost(readBytes(request, checks, pace), most))!;
  return readJsonLine(bytes, 1, DEFAULT_LINE_LIMITS).value;
}
