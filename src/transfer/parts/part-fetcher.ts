import { hashBlob } from "../../zone/segment/hash.ts";
import { SignatureError } from "../signature.ts";
import type { OnTransferEvent } from "../transfer-events.ts";
import type { NamedBytes, PartKind, TransferSource } from "../transfer-state.ts";
import { PartChangeError } from "./part-change.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Runs one request to a source within its time-out. @param late what to report when that has passed */
export type RequestStep = <Result>(
  late: string,
  run: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

/** A part that is fetched. */
export interface WantedPart<Given, Part> {
  readonly kind: PartKind;
  readonly hash: string;
  /** What the part probably is a small change of. */
  readonly since?: NamedBytes | undefined;
  readonly fetch: (since: NamedBytes | undefined, signal: AbortSignal) => Promise<Given | undefined>;
  /** Checks what was fetched and makes the part of it. @throws {Error} for what is not the part */
  readonly load: (given: Given) => Part;
}

/** Fetches parts from a source, and rejects bad ones: their source drops them. */
export class PartFetcher {
  readonly #source: Pick<TransferSource, "drop">;
  readonly #onEvent: OnTransferEvent;
  /** Whether the last part was bad: then whole parts are fetched, since a change may be what is bad. */
  #isWary = false;

  constructor(source: Pick<TransferSource, "drop">, onEvent: OnTransferEvent) {
    this.#source = source;
    this.#onEvent = onEvent;
  }

  /**
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the source fails, or gives something else
   */
  async fetch<Given, Part>(
    { kind, hash, since, fetch, load }: WantedPart<Given, Part>,
    request: RequestStep,
  ): Promise<Part | undefined> {
    const base = this.#isWary ? undefined : since;
    try {
      const given = await request(`the ${kind} was not transferred`, (signal) => fetch(base, signal));
      return given === undefined ? undefined : accept(given, load);
    } catch (error) {
      const isBad =
        error instanceof BadPartError || error instanceof SignatureError || error instanceof PartChangeError;
      if (isBad) this.#reject(kind, hash, error);
      throw error instanceof BadPartError ? error.cause : error;
    }
  }

  /** To be called when everything that belongs together was fetched and is good. */
  trust(): void {
    this.#isWary = false;
  }

  #reject(part: PartKind, hash: string, error: Error): void {
    this.#isWary = true;
    this.#source.drop?.(part, hash);
    this.#onEvent({
      event: "part-rejected",
      part,
      hash,
      error: error instanceof BadPartError ? error.cause : error,
    });
  }
}

/** Bytes are not the part that they should be; `cause` says why. */
class BadPartError extends Error {}

function accept<Given, Part>(given: Given, load: (given: Given) => Part): Part {
  try {
    return load(given);
  } catch (cause) {
    throw new BadPartError("the part is bad", { cause });
  }
}

/**
 * A blob, which its hash covers whole.
 * @throws {Error} for bytes that have another hash
 */
export function checkHash(bytes: Bytes, hash: string, what: string): Bytes {
  const own = hashBlob(bytes);
  if (own !== hash)
    throw new Error(`${what} has the hash ${own}, not ${hash}: it is damaged, or another one`);
  return bytes;
}
