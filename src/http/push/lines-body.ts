import type { Stage } from "../../database/stage.ts";
import type { Clock } from "../../gateway/clock.ts";
import type { Turns } from "../../gateway/turns.ts";
import { LinesReader } from "../../snapshot/lines/lines-reader.ts";
import { DEFAULT_LINE_LIMITS, type LinesHeader, NDJSON_TYPE } from "../../snapshot/lines/patch-line.ts";
import { ApiError } from "../messages/api-error.ts";
import type { BodyAccount } from "./body-budget.ts";
import { checkHead, readBytes } from "./body-bytes.ts";
import type { BodyLimits } from "./push-limits.ts";

/** Members and elements of one step, and steps of one turn. */
const VALUES_AT_ONCE = 256;
const MOST_STEPS = 64;

/** How the lines of a body are taken. */
export interface LinesReading {
  readonly limits: BodyLimits;
  readonly setTimer: Clock["setTimer"];
  /** Counts what the body takes in the memory. */
  readonly account: BodyAccount;
  readonly turns: Turns;
  /** Called with the members and elements of each line. */
  readonly work: (values: number) => void;
}

/**
 * Takes a body of lines, plain or compressed by gzip, each line as it arrives. Nothing is changed until the caller applies the stage.
 * @param start called with the first line; may reject the body by throwing
 * @throws {ApiError} 400, 408, 413, 415, 429 or 503 @throws {LinesError} @throws {SnapshotError}
 */
export async function stageLines(
  request: Request,
  reading: LinesReading,
  start: (header: LinesHeader) => Stage,
): Promise<Stage> {
  const { limits, turns } = reading;
  checkHead(request, NDJSON_TYPE, limits, ", one JSON value a line (docs/reference/push-api.md)");
  const body = new LinesBody(reading, start);
  for await (const part of readBytes(request, reading))
    await turns.run(body.take(part), { mostSteps: MOST_STEPS });
  return body.finish();
}

class LinesBody {
  readonly #reading: LinesReading;
  readonly #start: (header: LinesHeader) => Stage;
  readonly #reader: LinesReader;
  #stage: Stage | undefined;
  #values = 0;
  #sinceStep = 0;

  constructor(reading: LinesReading, start: (header: LinesHeader) => Stage) {
    this.#reading = reading;
    this.#start = start;
    this.#reader = new LinesReader({ ...DEFAULT_LINE_LIMITS, lineLevels: reading.limits.pushLevels });
  }

  *take(part: Uint8Array): Generator<void> {
    for (const line of this.#reader.feed(part)) {
      this.#count(line.values);
      this.#begin()!.apply(line);
      // A long line is several steps.
      for (
        this.#sinceStep += line.values;
        this.#sinceStep >= VALUES_AT_ONCE;
        this.#sinceStep -= VALUES_AT_ONCE
      )
        yield;
    }
    this.#begin();
  }

  finish(): Stage {
    this.#reader.finish();
    return this.#begin()!;
  }

  #begin(): Stage | undefined {
    const { header } = this.#reader;
    if (header !== undefined) this.#stage ??= this.#start(header);
    return this.#stage;
  }

  #count(values: number): void {
    const { limits, account, work } = this.#reading;
    this.#values += values;
    if (this.#values > limits.pushValues)
      throw new ApiError(
        413,
        "TOO_MANY_VALUES",
        `the body has more than ${limits.pushValues} members and elements`,
        { limit: "limits.pushValues" },
      );
    account.hold(values);
    work(values);
  }
}
