import type { Clock } from "../gateway/clock.ts";
import { sleep, within } from "./http-source.ts";
import type { PartCache } from "./part-cache.ts";
import { markText, type PartName, partPath } from "./part-forms.ts";
import type { WantedPart } from "./reader-world.ts";
import type { OnTransferEvent, TransferSource } from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What fetching works with. */
interface FetchParts {
  readonly source: TransferSource;
  /** As `visibilityKey` has it. */
  readonly scope: string;
  readonly clock: Clock;
  /** How long one part may take, in milliseconds. */
  readonly timeout: number;
  readonly onEvent: OnTransferEvent;
}

/** How long a query counts on another one that fetches the same part, in milliseconds. */
const PATIENCE = 400;
/** Pauses of one that waits, in milliseconds: they double. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 50;
/** Notes of requests that never ended are forgotten when there are so many. */
const MOST_NOTES = 1000;

/**
 * Fetches parts, and checks them. One query fetches a part, the others look for it in memory: in Workers a
 * promise of one request must not be awaited by another one, since it never settles when the first is
 * cancelled (Cloudflare, "Errors and exceptions", cross-request promises). So a note with a time says that a
 * fetch is under way.
 */
export class PartFetcher {
  readonly #parts: FetchParts;
  readonly #requested = new Map<string, number>();

  constructor(parts: FetchParts) {
    this.#parts = parts;
  }

  /**
   * @returns undefined where the primary does not have it
   * @throws {Error} where it cannot be had, or is not well-formed
   */
  async fetch<Value>(
    name: PartName,
    version: string,
    epoch: string,
    load: (bytes: Bytes) => Value,
    timeout = this.#parts.timeout,
  ): Promise<{ readonly value: Value; readonly bytes: number } | undefined> {
    const { source, scope, clock, onEvent } = this.#parts;
    const path = partPath(name, version, epoch, scope);
    const bytes = await within(clock, timeout, "the primary did not send a part", (signal) =>
      source.part(path, signal),
    );
    if (bytes === undefined) return undefined;
    try {
      return { value: load(bytes), bytes: bytes.length };
    } catch (error) {
      source.drop?.(path);
      onEvent({ event: "part-rejected", part: path, error });
      throw error;
    }
  }

  /**
   * Brings a part into memory that a query needs.
   * @returns false where the primary does not have it
   * @throws {Error} where it cannot be had, or is not well-formed
   */
  async bring(wanted: WantedPart, cache: PartCache): Promise<boolean> {
    const { clock } = this.#parts;
    const note = cache.owner + wanted.hash;
    for (let pause = FIRST_PAUSE; this.#isRequested(note); pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      await sleep(clock, pause);
      if (cache.isRight(wanted.hash, wanted.version)) return true;
    }
    if (this.#requested.size >= MOST_NOTES) this.#requested.clear();
    this.#requested.set(note, clock.now());
    try {
      return await this.load(wanted, cache);
    } finally {
      this.#requested.delete(note);
    }
  }

  /** The same for all that fetch it. @param timeout in milliseconds. Default: that of every part */
  async load(
    { hash, name, version, load }: WantedPart,
    cache: PartCache,
    timeout?: number,
  ): Promise<boolean> {
    const checked = (bytes: Bytes) => {
      const part = load(bytes);
      if (part.at < version.position) throw new Error("the primary sent a part that is too old");
      return part;
    };
    const part = await this.fetch(name, markText(version), cache.epoch, checked, timeout);
    if (part === undefined) return false;
    cache.set(hash, part.value, part.bytes);
    return true;
  }

  #isRequested(note: string): boolean {
    const at = this.#requested.get(note);
    return at !== undefined && Math.abs(this.#parts.clock.now() - at) < PATIENCE;
  }
}
