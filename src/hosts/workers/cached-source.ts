import { type Allocate, readBounded } from "../../transfer/bounded-body.ts";
import { MOST_IMAGE_BYTES } from "../../transfer/http-source.ts";
import type { OpenTransferSource, TransferSource, TransferState } from "../../transfer/transfer-state.ts";

/** The part of a location's cache that is needed: `caches.default`. */
export interface LocationCache {
  match(url: string): Promise<Response | undefined>;
  put(url: string, response: Response): Promise<void>;
  delete(url: string): Promise<boolean>;
}

/** What a shared source is put together from. */
export interface CachedSourceOptions {
  readonly source: OpenTransferSource;
  readonly cache: LocationCache;
  /** A URL that nobody else uses as a key of the cache; nothing is ever asked for at it. */
  readonly key: string;
  /** The scope of the source's states, as `visibilityKey` has it. Default: everything. Images are shared by all scopes. */
  readonly scope?: string;
  /** Where the memory of images is from. Default: the host. */
  readonly allocate?: Allocate;
  /** Takes work that nobody waits for. */
  readonly background: (work: Promise<unknown>) => void;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** A state in the cache, and since when somebody asks for a newer one. */
interface KeptState {
  readonly state?: TransferState;
  readonly askedSince?: number;
}

/** How long others count on somebody who asks for the state, or for an image, in milliseconds. */
const STATE_PATIENCE = 400;
const IMAGE_PATIENCE = 3000;
/** Pauses of those others: they double. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;
/** How long the cache keeps things, in seconds. */
const KEEP_STATE = 10;
const KEEP_IMAGE = 86_400;
/**
 * From how many octets on images are streamed into the cache. Giving it 11 MB out of a script takes 8 ms of CPU time, of the 10
 * that a request may have; a stream takes 2, and another request to the object (docs/explanation/benchmarks.md).
 */
const STREAMED_BYTES = 1 << 20;

/**
 * One location's isolates share what they transfer, so that thousands of them ask the object like one. The cache has no atomic
 * operations: whoever asks says so in it first, and the others wait for what comes of that, but not for ever. Where
 * the cache keeps nothing (on workers.dev), each isolate asks for itself.
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

  // A cache that fails keeps nobody from asking the object.
  async #match<Body>(url: string, read: (response: Response) => Promise<Body>): Promise<Body | undefined> {
    try {
      const found = await this.#options.cache.match(url);
      return found && (await read(found));
    } catch {
      return undefined;
    }
  }

  /** Asks for the image once more, and leaves it to the runtime to take it into the cache. */
  async #streamImage(contentHash: string): Promise<void> {
    // A cache that did not keep the claim will not keep the image.
    const claim = await this.#match(this.#claimUrl(contentHash), (response) => response.text());
    if (claim === undefined) return;
    try {
      const response = await this.#options.source.openImage(contentHash);
      if (response?.body) await this.#put(this.#imageUrl(contentHash), response.body, KEEP_IMAGE);
    } catch {
      // The others ask for themselves.
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
      // The others ask for themselves.
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
