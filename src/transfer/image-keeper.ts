import { type BundleCheck, type LoadedBundle, loadBundle } from "../zone/generation/bundle.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { FormatVersionError } from "../zone/segment/blob.ts";
import { SignatureError } from "./signature.ts";
import type { OnTransferEvent } from "./transfer-events.ts";
import type { TransferSource } from "./transfer-state.ts";

/** Octets that are checked with one query: 0.1 ms of work, and 2 ms before they are compiled. */
const SLICE_BYTES = 1 << 18;
/** How long an image of another format version is not transferred again, in milliseconds. */
const FOREIGN_FOR = 60_000;

/** Fetches images, refuses bad ones, and keeps the newest good one. */
export class ImageKeeper {
  readonly #source: TransferSource;
  readonly #onEvent: OnTransferEvent;
  #kept: Generation | undefined;
  #check: BundleCheck | undefined;
  #foreign:
    | { readonly error: FormatVersionError; readonly contentHash: string; readonly at: number }
    | undefined;

  constructor(source: TransferSource, onEvent: OnTransferEvent) {
    this.#source = source;
    this.#onEvent = onEvent;
  }

  /** Whether no image is kept. */
  get isEmpty(): boolean {
    return this.#kept === undefined;
  }

  /** Whether the image that is kept is not checked to its end yet. */
  get isUnchecked(): boolean {
    return this.#check !== undefined;
  }

  /**
   * The octets of the image with that content hash, from the source unless it is the one that is kept.
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the source fails. @throws {FormatVersionError} for one that was refused as such before
   */
  async fetch(
    contentHash: string,
    now: number,
    signal: AbortSignal,
  ): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.#kept?.contentHash === contentHash) return this.#kept.bytes;
    const known = this.#foreign;
    if (known?.contentHash === contentHash && Math.abs(now - known.at) < FOREIGN_FOR) throw known.error;
    try {
      return await this.#source.image(contentHash, signal);
    } catch (error) {
      if (error instanceof SignatureError) this.#refuse(contentHash, error);
      throw error;
    }
  }

  /**
   * Takes octets as the image with that content hash and keeps it in place of the one before.
   *
   * Checking the content of 11 MB (100,000 endpoints) takes workerd 3 ms, and 7.5 ms where it is the first one, of the
   * 10 ms that a cold isolate has; loading takes 0.8 ms. So the very first image is answered from at once and checked in
   * slices with the queries after it. Any later one is checked before it replaces a good one.
   * @param begun when the transfer began
   * @throws {Error} for octets that are not that image: they are refused
   */
  take(contentHash: string, bytes: Uint8Array<ArrayBuffer>, begun: number, now: number): Generation {
    const before = this.#kept;
    if (before?.contentHash === contentHash) return before;
    let loaded: LoadedBundle;
    try {
      loaded = loadBundle(bytes);
      const { generation: image, check } = loaded;
      if (image.contentHash !== contentHash)
        throw new Error(
          `the image has the content hash ${image.contentHash}, not ${contentHash} as asked for`,
        );
      if (before !== undefined && check.advance(bytes.length) !== true) throw tornImage(contentHash);
    } catch (error) {
      if (error instanceof FormatVersionError) this.#foreign = { error, contentHash, at: now };
      this.#refuse(contentHash, error);
      throw error;
    }
    this.#check = before === undefined ? loaded.check : undefined;
    this.#kept = loaded.generation;
    this.#onEvent({ event: "transferred", contentHash, bytes: bytes.length, milliseconds: now - begun });
    return loaded.generation;
  }

  /**
   * Checks a slice of the image that is kept, where it is not checked yet.
   * @throws {Error} where it turns out to be torn: it is refused, and not kept any longer
   */
  checkSlice(): void {
    const right = this.#check?.advance(SLICE_BYTES);
    if (right === undefined) return;
    this.#check = undefined;
    if (right) return;
    const { contentHash } = this.#kept!;
    this.#kept = undefined;
    const error = tornImage(contentHash);
    this.#refuse(contentHash, error);
    throw error;
  }

  #refuse(contentHash: string, error: unknown): void {
    this.#source.drop?.(contentHash);
    this.#onEvent({ event: "image-refused", contentHash, error });
  }
}

function tornImage(contentHash: string): Error {
  return new Error(`the image's content does not have the hash ${contentHash} that it names: it is torn`);
}
