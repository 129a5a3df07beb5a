import { MOST_PART_BYTES, readBounded } from "../../transfer/http-source.ts";
import { newNonce } from "../../transfer/signature.ts";
import type { TransferCounters, TransferSource, TransferState } from "../../transfer/transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The used part of a location's cache, `caches.default`. */
export interface LocationCache {
  match(url: string): Promise<Response | undefined>;
  put(url: string, response: Response): Promise<void>;
  delete(url: string): Promise<boolean>;
}

/** The parts of a shared source. */
interface CachedSourceOptions {
  readonly source: TransferSource;
  readonly cache: LocationCache;
  /** A URL that nothing else uses as a key of the cache; it is never requested. */
  readonly key: string;
  /**
   * The scope of the source, as `visibilityKey` has it; the paths of parts have it, too. Default: everything.
   */
  readonly scope?: string;
  readonly counters?: TransferCounters;
  /** Takes work whose result is not awaited. */
  readonly background: (work: Promise<unknown>) => void;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** That an isolate requests something, and since when, in Unix milliseconds. */
interface Note {
  readonly at: number;
  readonly by: string;
}

function readNote(response: Response): Promise<Note> {
  return response.json() as Promise<Note>;
}

/** How long others count on the isolate that requests the state or a part, in milliseconds. */
const PATIENCE = 400;
/** Notes that an isolate writes for one request: a cache may give old entries. */
const MOST_NOTES = 3;
/** Pauses of those others: they double. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;
/** How long the cache keeps an entry, in seconds. */
const KEEP_STATE = 10;
const KEEP_PART = 30 * 86_400;

/**
 * One location's isolates share what they transfer, so that thousands of them send the object as many
 * requests as one. The cache has no atomic operations: an isolate writes a note into it before it requests
 * something, and looks whether another one has written its own in the meantime. The isolate whose note stays
 * requests it, and the others wait for what comes of that, but not for ever. Where the cache keeps nothing
 * (on workers.dev), each isolate sends its own requests.
 */
export class CachedTransferSource implements TransferSource {
  readonly #options: CachedSourceOptions;

  constructor(options: CachedSourceOptions) {
    this.#options = options;
  }

  async state(maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    const { source, clock, key, scope = "", background } = this.#options;
    const url = scope === "" ? `${key}/state` : `${key}/scopes/${encodeURIComponent(scope)}/state`;
    const read = async (response: Response) => {
      const state = (await response.json()) as TransferState;
      // Clocks of two machines may differ, so an age may be below zero.
      return Math.abs(clock() - state.at) < maximumAge ? state : undefined;
    };
    const kept = await this.#kept(url, read, signal);
    if (kept !== undefined) return kept;
    const state = await source.state(maximumAge, signal);
    background(this.#put(url, JSON.stringify(state), KEEP_STATE));
    return state;
  }

  async part(path: string, signal?: AbortSignal): Promise<Bytes | undefined> {
    const { source, counters, background } = this.#options;
    const url = this.#partUrl(path);
    const read = (response: Response) => readBounded(response, MOST_PART_BYTES, "the part");
    const kept = await this.#kept(url, read, signal);
    if (kept !== undefined) {
      counters?.count("cache", kept.length);
      return kept;
    }
    const bytes = await source.part(path, signal);
    if (bytes !== undefined) background(this.#put(url, bytes, KEEP_PART));
    return bytes;
  }

  drop(path: string): void {
    this.#options.background(this.#options.cache.delete(this.#partUrl(path)));
  }

  /**
   * What the cache has; if it has nothing, the note is written that this isolate requests it.
   * @param read undefined for an entry that is of no use
   */
  async #kept<Body>(
    url: string,
    read: (response: Response) => Promise<Body | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<Body | undefined> {
    const { clock, sleep } = this.#options;
    const note = `${url}&requested`;
    let notes = 0;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const found = await this.#match(url, read);
      if (found !== undefined) return found;
      const request = await this.#match(note, readNote);
      const patience = PATIENCE - Math.abs(clock() - (request?.at ?? 0));
      if (patience <= 0) {
        const by = newNonce();
        await this.#put(note, JSON.stringify({ at: clock(), by }), KEEP_STATE);
        const written = await this.#match(note, readNote);
        if (++notes === MOST_NOTES || !this.#isOfAnother(written, by)) return undefined;
        continue;
      }
      await sleep(Math.min(pause, patience));
      signal?.throwIfAborted();
    }
  }

  /**
   * Whether a note that was read after one's own is that of another isolate, which requests something now.
   */
  #isOfAnother(note: Note | undefined, own: string): boolean {
    return note !== undefined && note.by !== own && Math.abs(this.#options.clock() - note.at) < PATIENCE;
  }

  // If the cache fails, the isolate requests it from the object.
  async #match<Body>(
    url: string,
    read: (response: Response) => Promise<Body | undefined>,
  ): Promise<Body | undefined> {
    try {
      const found = await this.#options.cache.match(url);
      return found && (await read(found));
    } catch {
      return undefined;
    }
  }

  async #put(url: string, body: string | Bytes, seconds: number): Promise<void> {
    try {
      const headers = { "cache-control": `public, max-age=${seconds}` };
      await this.#options.cache.put(url, new Response(body, { headers }));
    } catch {
      // The other isolates request it from the object themselves.
    }
  }

  #partUrl(path: string): string {
    return `${this.#options.key}/${path}`;
  }
}
