import type { PartTable } from "../../store/rows/part-table.ts";
import { messageOf } from "../../store/store-error.ts";
import type { SegmentMemory } from "../../zone/generation/directory.ts";
import { BlobHeader, BlobKind } from "../../zone/segment/layout.ts";
import { ReverseSegment } from "../../zone/segment/reverse-segment.ts";
import { Segment } from "../../zone/segment/segment.ts";
import type { AnySegment } from "../parts/any-segment.ts";
import type { SegmentsInMemory } from "../parts/load-root.ts";
import { checkHash } from "../parts/part-fetcher.ts";
import { SegmentCache } from "../parts/segment-cache.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Called for a part that is damaged or missing, and so not served. */
export type OnPartDamage = (damage: { readonly hash: string; readonly message: string }) => void;

/** Bytes of segments that stay in memory. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Parts in rows, checked when they are read. The segments that were used last are in memory. */
export class StoredParts implements SegmentsInMemory {
  readonly #table: PartTable;
  readonly #onDamage: OnPartDamage;
  readonly #segments = new SegmentCache<AnySegment>(MOST_BYTES);

  constructor(table: PartTable, onDamage: OnPartDamage) {
    this.#table = table;
    this.#onDamage = onDamage;
  }

  /** A part; undefined for one that is damaged or missing. */
  read(hash: string): Bytes | undefined {
    return this.loaded(hash, (bytes) => bytes);
  }

  /** A part as `load` makes it of its bytes, which have the hash; undefined for one that is damaged or missing, or where `load` throws. */
  loaded<Part>(hash: string, load: (bytes: Bytes) => Part): Part | undefined {
    try {
      const bytes = this.#table.read(hash);
      if (bytes === undefined) throw new Error("it is missing");
      return load(checkHash(bytes, hash, "the part"));
    } catch (error) {
      this.#onDamage({ hash, message: `a part of a generation is not served: ${messageOf(error)}` });
      return undefined;
    }
  }

  of<Kind extends AnySegment>(isOfKind: (segment: AnySegment) => segment is Kind): SegmentMemory<Kind> {
    return {
      get: (hash) => {
        const segment = this.#segments.has(hash)
          ? this.#segments.get(hash)
          : this.loaded(hash, (bytes) => loadSegment(bytes, hash));
        if (segment === undefined || !isOfKind(segment)) return undefined;
        this.#segments.add(segment);
        return segment;
      },
      add: (segment) => this.#segments.add(segment),
    };
  }
}

function loadSegment(bytes: Bytes, hash: string): AnySegment {
  const kind = bytes[BlobHeader.kind * 4];
  return kind === BlobKind.reverse ? ReverseSegment.load(bytes, hash) : Segment.load(bytes, hash);
}
