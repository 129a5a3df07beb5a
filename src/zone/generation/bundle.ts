import { check, FormatError, readBlob } from "../segment/blob.ts";
import { formatHash, hashBlob } from "../segment/hash.ts";
import { BlobKind } from "../segment/layout.ts";
import { ReverseSegment } from "../segment/reverse-segment.ts";
import { Segment } from "../segment/segment.ts";
import { type Blob, Page } from "./directory.ts";
import { Frame } from "./frame.ts";
import { Generation, Trunk } from "./generation.ts";
import { readRoot } from "./root.ts";
import { BLOBS_AT, BundleHeader, CHECK_AT, ROOT_HASH_AT } from "./write-bundle.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A blob with the hash that it must have. */
interface NamedBlob {
  readonly bytes: Bytes;
  readonly hash: string;
}

/** A generation whose parts are well-formed; whether they have their hashes is checked later. */
export interface LoadedBundle {
  readonly generation: Generation;
  readonly check: BundleCheck;
}

/**
 * Loads a bundle without copying it.
 * @throws {FormatError} for bytes that are not a well-formed bundle
 */
export function loadBundle(bytes: Bytes): LoadedBundle {
  const words = readBlob(bytes, BlobKind.bundle, "a generation");
  check(bytes.length >= BLOBS_AT, `${bytes.length} bytes are too few for a generation`);
  check(
    formatHash(bytes, CHECK_AT) === hashBlob(bytes.subarray(0, CHECK_AT)),
    "the header of the generation is torn",
  );
  const blobs: NamedBlob[] = [];
  let at = BLOBS_AT;
  const next = (hash: string): Bytes => {
    const length = words[at >> 2] ?? 0;
    check(
      length > 0 && length % 4 === 0 && at + 4 + length <= bytes.length,
      "a blob ends outside the generation",
    );
    const blob = bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    blobs.push({ bytes: blob, hash });
    return blob;
  };
  const fill = <Content extends Blob>(
    page: Page<Content>,
    load: (blob: Bytes, hash: string) => Content,
  ): Page<Content> => {
    for (const { branch } of page.entries) {
      const { kind, hash } = branch;
      if (kind === "page") branch.page = fill(Page.load<Content>(next(hash), hash, false), load);
      else branch.segment = load(next(hash), hash);
    }
    return page;
  };
  const rootHash = formatHash(bytes, ROOT_HASH_AT);
  const hashes = readRoot(next(rootHash));
  const frame = Frame.load(next(hashes.frame), hashes.frame);
  const trunk = new Trunk(frame, Segment.load(next(hashes.stems), hashes.stems));
  const names = fill(Page.load<Segment>(next(hashes.names), hashes.names, true), Segment.load);
  const reverse = fill(
    Page.load<ReverseSegment>(next(hashes.reverse), hashes.reverse, true),
    ReverseSegment.load,
  );
  check(
    at === bytes.length && blobs.length === words[BundleHeader.count],
    "the generation has other blobs than it says",
  );
  const generation = new Generation(words[BundleHeader.serial]!, trunk, names, reverse, bytes);
  check(generation.rootHash === rootHash, "the root does not have the hash that the generation names");
  return { generation, check: new BundleCheck(blobs) };
}

/** Checks the hashes of a bundle's blobs in slices, for callers that must not block for all of them. */
export class BundleCheck {
  readonly #blobs: readonly NamedBlob[];
  #next = 0;
  #allowed = 0;

  constructor(blobs: readonly NamedBlob[]) {
    this.#blobs = blobs;
  }

  /** Checks about `octets` more bytes. @returns whether all hashes fit, after the last blob or the first that does not; before it undefined */
  advance(octets: number): boolean | undefined {
    this.#allowed += octets;
    for (let blob = this.#blobs[this.#next]; blob !== undefined; blob = this.#blobs[this.#next]) {
      if (this.#allowed < blob.bytes.length) return undefined;
      this.#allowed -= blob.bytes.length + 4;
      if (hashBlob(blob.bytes) !== blob.hash) return false;
      this.#next++;
    }
    return true;
  }
}

/** Loads a bundle and checks its hashes. @throws {FormatError} for bytes that are not a good one */
export function loadCheckedBundle(bytes: Bytes): Generation {
  const { generation, check: bundle } = loadBundle(bytes);
  if (bundle.advance(Number.POSITIVE_INFINITY) !== true)
    throw new FormatError("a part of the generation does not have its hash: it is torn");
  return generation;
}
