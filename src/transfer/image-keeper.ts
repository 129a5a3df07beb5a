import { ContentCheck, verifyContentHash } from "../zone/content-hash.ts";
import { ImageError, ZoneImage } from "../zone/image.ts";
import type { OnTransferEvent } from "./transfer-events.ts";
import type { TransferSource } from "./transfer-state.ts";

/** Octets that are checked with one query: a tenth of a millisecond once compiled, one when not. */
const SLICE_BYTES = 1 << 18;
/** How long an image that this program cannot read is not asked for again, in milliseconds. */
const REFUSED_FOR = 60_000;

/** Fetches images, refuses bad ones, and keeps the newest good one. */
export class ImageKeeper {
  readonly #source: TransferSource;
  readonly #onEvent: OnTransferEvent;
  #kept: ZoneImage | undefined;
  #check: ContentCheck | undefined;
  #unreadable: { readonly error: ImageError; readonly contentHash: string; readonly at: number } | undefined;

  constructor(source: TransferSource, onEvent: OnTransferEvent) {
    this.#source = source;
    this.#onEvent = onEvent;
  }

  /** Whether the image that is kept was not checked to its end. */
  get isUnchecked(): boolean {
    return this.#check !== undefined;
  }

  /**
   * The image with that content hash: the one that is kept, or a new one.
   *
   * Checking the content of 11 MB (100,000 endpoints) takes 2 ms, in a process that has not done it yet 5 ms, of the 10 ms that
   * a cold isolate has; loading takes 0.6 ms. So the very first image is answered from at once and checked in
   * slices with the queries after it. Any later one is checked before it replaces a good one.
   * @returns undefined where the primary serves another one by now
   * @throws {ImageError} for octets that are not that image
   */
  async fetch(contentHash: string, now: number, signal: AbortSignal): Promise<ZoneImage | undefined> {
    if (this.#kept?.contentHash === contentHash) return this.#kept;
    const known = this.#unreadable;
    if (known?.contentHash === contentHash && Math.abs(now - known.at) < REFUSED_FOR) throw known.error;
    const bytes = await this.#source.image(contentHash, signal);
    if (bytes === undefined) return undefined;
    try {
      return this.#load(bytes, contentHash);
    } catch (error) {
      if (error instanceof ImageError) this.#unreadable = { error, contentHash, at: now };
      this.#refuse(contentHash, error);
      throw error;
    }
  }

  /** Keeps an image in place of the one before. @returns whether it is another one */
  keep(image: ZoneImage): boolean {
    if (this.#kept === image) return false;
    // Nothing was kept: this one was not checked.
    this.#check = this.#kept === undefined ? new ContentCheck(image.bytes) : undefined;
    this.#kept = image;
    return true;
  }

  /** Checks a slice of the image that is kept; false where it is no good, and not kept any longer. */
  checkSlice(): boolean {
    const right = this.#check?.advance(SLICE_BYTES);
    if (right === undefined) return true;
    this.#check = undefined;
    if (right) return true;
    const { contentHash } = this.#kept!;
    this.#kept = undefined;
    this.#refuse(contentHash, wrongContent(contentHash));
    return false;
  }

  #load(bytes: Uint8Array<ArrayBuffer>, contentHash: string): ZoneImage {
    const image = ZoneImage.load(bytes);
    if (image.contentHash !== contentHash)
      throw new Error(`the image has the content hash ${image.contentHash}, not ${contentHash} as asked for`);
    if (this.#kept !== undefined && !verifyContentHash(bytes)) throw wrongContent(contentHash);
    return image;
  }

  #refuse(contentHash: string, error: unknown): void {
    this.#source.drop?.(contentHash);
    this.#onEvent({ event: "image-refused", contentHash, error });
  }
}

function wrongContent(contentHash: string): Error {
  return new Error(`the image's content does not have the hash ${contentHash} that it names: it is torn`);
}
