import { type Allocate, readBounded } from "../../transfer/bounded-body.ts";
import { MOST_IMAGE_BYTES } from "../../transfer/http-source.ts";
import type { OpenTransferSource, TransferSource, TransferState } from "../../transfer/transfer-state.ts";

/** The used part of a location's cache, `caches.default`. */
export interface LocationCache {
  match(url: string): Promise<Response | undefined>;
  put(url: string, response: Response): Promise<void>;
  delete(url: string): Promise<boolean>;
}

/** The parts of a shared source. */
export interface CachedSourceOptions {
  readonly source: OpenTransferSource;
  readonly cache: LocationCache;
  /** A URL that nothing else uses as a key of the cache; it is never requested. */
  readonly key: string;
  /** The visibility of the source's states, by `visibilityKey`. Default: everything. All visibilities share images. */
  readonly scope?: string;
  /** Allocates the memory of images. Default: new memory. */
  readonly allocate?: Allocate;
  /** Runs work in the background. */
  readonly background: (work: Promise<unknown>) => void;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** A state in the cache, and the time since when an isolate has been fetching a newer one. */
interface KeptState {
  readonly state?: TransferState;
  readonly askedSince?: number;
}

/** How long other isolates wait for the one that fetches the state, or an image, in milliseconds. */
const STATE_PATIENCE = 400;
const IMAGE_PATIENCE = 3000;
/** The pauses of waiting isolates: they double. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;
/** How long the cache keeps an entry, in seconds. */
const KEEP_STATE = 10;
const KEEP_IMAGE = 86_400;
/**
 * Images of at least this many bytes are streamed into the cache. Putting 11 MB from a script takes 8 ms of the 10 ms of CPU time
 * that a request may use; a stream takes 2 ms, and another request to the object (docs/explanation/benchmarks.md).
 */
const STREAMED_BYTES = 1 << 20;

/**
 * The isolates of one location share what they transfer, so that thousands of them send the object the requests of one:
 *
 * 1. an isolate that needs a newer state writes a claim into the cache, since the cache has no atomic operations;
 * 2. it fetches the state from the object, and puts it into the cache;
 * 3. the other isolates wait for that, up to a bound.
 *
 * If the cache keeps nothing (on workers.dev), each isolate asks the object.
 */
export class CachedTransferSource implements TransferSource {
  readonly #options: CachedSourceOptions;

  constructor(options: CachedSourceOptions) {
    this.#options = options;
  }

  async state(maximumAge: number, signal?: AbortSignal): Promise<TransferState> {
    const { source, clock } = this.#options;
    let kept = await this.#keptState();
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const { state, askedSince } = kept;
      // Clocks of two machines may differ, so an age may be below zero.
      if (state !== undefined && Math.abs(clock() - state.at) < maximumAge) return state;
      const patience = STATE_PATIENCE - Math.abs(clock() - (askedSince ?? 0));
      if (patience <= 0) break;
      await this.#options.sleep(Math.min(pause, patience));
      signal?.throwIfAborted();
      kept = await this.#keptState();
    }
    await this.#keepState({ ...kept, askedSince: clock() });
    const state = await source.state(maximumAge, signal);
    this.#options.background(this.#keepState({ state }));
    return state;
  }

  async image(contentHash: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { source, clock, sleep, background, allocate } = this.#options;
    const url = this.#imageUrl(contentHash);
    const claim = this.#claimUrl(contentHash);
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const found = await this.#match(url, (response) =>
        readBounded(response, MOST_IMAGE_BYTES, "the image", allocate),
      );
      if (found !== undefined) return found;
      const asked = await this.#match(claim, (response) => response.text());
      const patience = IMAGE_PATIENCE - Math.abs(clock() - Number(asked ?? 0));
      if (patience <= 0) break;
      await sleep(Math.min(pause, patience));
      signal?.throwIfAborted();
    }
    await this.#put(claim, String(clock()), KEEP_STATE);
    const bytes = await source.image(contentHash, signal);
    if (bytes !== undefined)
      background(
        bytes.length < STREAMED_BYTES ? this.#put(url, bytes, KEEP_IMAGE) : this.#streamImage(contentHash),
      );
    return bytes;
  }

  drop(contentHash: string): void {
    this.#options.background(this.#options.cache.delete(this.#imageUrl(contentHash)));
  }

  async #keptState(): Promise<KeptState> {
    return (await this.#match(this.#stateUrl, (response) => response.json() as Promise<KeptState>)) ?? {};
  }

  #keepState(kept: KeptState): Promise<void> {
    return this.#put(this.#stateUrl, JSON.stringify(kept), KEEP_STATE);
  }

  // If the cache fails, the isolate asks the object.
  async #match<Body>(url: string, read: (response: Response) => Promise<Body>): Promise<Body | undefined> {
    try {
      const found = await this.#options.cache.match(url);
      return found && (await read(found));
    } catch {
      return undefined;
    }
  }

  /** Requests the image once more, and lets the runtime stream it into the cache. */
  async #streamImage(contentHash: string): Promise<void> {
    // A cache that did not keep the claim will not keep the image.
    const claim = await this.#match(this.#claimUrl(contentHash), (response) => response.text());
    if (claim === undefined) return;
    try {
      const response = await this.#options.source.openImage(contentHash);
      if (response?.body) await this.#put(this.#imageUrl(contentHash), response.body, KEEP_IMAGE);
    } catch {
      // The other isolates ask the object themselves.
    }
  }

  async #put(
    url: string,
    body: string | Uint8Array<ArrayBuffer> | ReadableStream,
    seconds: number,
  ): Promise<void> {
    try {
      const headers = { "cache-control": `public, max-age=${seconds}` };
      await this.#options.cache.put(url, new Response(body, { headers }));
    } catch {
      // The other isolates ask the object themselves.
    }
  }

  get #stateUrl(): string {
    const { key, scope = "" } = this.#options;
    return scope === "" ? `${key}/state` : `${key}/scopes/${encodeURIComponent(scope)}/state`;
  }

  #imageUrl(contentHash: string): string {
    return `${this.#options.key}/images/${contentHash}`;
  }

  #claimUrl(contentHash: string): string {
    return `${this.#imageUrl(contentHash)}/asked-for`;
  }
}
