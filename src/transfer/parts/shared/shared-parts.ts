import type { SegmentMemory } from "../../../zone/generation/directory.ts";
import { BlobHeader, BlobKind } from "../../../zone/segment/layout.ts";
import { ReverseSegment } from "../../../zone/segment/reverse-segment.ts";
import { Segment } from "../../../zone/segment/segment.ts";
import type { AnySegment } from "../any-segment.ts";
import type { SegmentsInMemory } from "../load-root.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The parts that another thread compiled, by hash. A segment becomes an object when a query first needs it, so that taking over a change costs its pages only. */
export class SharedParts implements SegmentsInMemory {
  readonly #bytes = new Map<string, Bytes>();
  readonly #segments = new Map<string, AnySegment>();

  add(hash: string, bytes: Bytes): void {
    this.#bytes.set(hash, bytes);
  }

  drop(hash: string): void {
    this.#bytes.delete(hash);
    this.#segments.delete(hash);
  }

  /** The bytes of a part; undefined for one that is not there. */
  readonly read = (hash: string): Bytes | undefined => this.#bytes.get(hash);

  of<Kind extends AnySegment>(isOfKind: (segment: AnySegment) => segment is Kind): SegmentMemory<Kind> {
    return {
      get: (hash) => {
        const segment = this.#segments.get(hash) ?? this.#load(hash);
        return segment !== undefined && isOfKind(segment) ? segment : undefined;
      },
      add: () => {},
    };
  }

  #load(hash: string): AnySegment | undefined {
    const bytes = this.#bytes.get(hash);
    if (bytes === undefined) return undefined;
    const isReverse = bytes[BlobHeader.kind * 4] === BlobKind.reverse;
    const segment = isReverse ? ReverseSegment.trusted(bytes, hash) : Segment.trusted(bytes, hash);
    this.#segments.set(hash, segment);
    return segment;
  }
}
