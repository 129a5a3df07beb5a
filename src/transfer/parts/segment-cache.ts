/** What a cache of segments needs of one. */
export interface SizedSegment {
  readonly hash: string;
  readonly bytes: { readonly length: number };
}

/** Bytes that a loaded segment takes beside its own: its tables as objects. */
const OBJECT_BYTES = 2048;

/** What a cache of segments has counted since it was made, and its size now. */
export interface SegmentCacheCounts {
  readonly hits: number;
  readonly misses: number;
  /** Segments that left for the room of others. */
  readonly evictions: number;
  /** Bytes of all segments together. */
  readonly bytes: number;
}

/** The segments that were used last, within a bound of bytes. Generations and scopes share them by hash. */
export class SegmentCache<Segment extends SizedSegment> implements SegmentCacheCounts {
  readonly #mostBytes: number;
  /** The one that was used last is the last one. */
  readonly #segments = new Map<string, Segment>();
  #bytes = 0;
  #hits = 0;
  #misses = 0;
  #evictions = 0;

  /** @param mostBytes a segment that is longer than all of them is kept alone */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of all segments together. */
  get bytes(): number {
    return this.#bytes;
  }

  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  get evictions(): number {
    return this.#evictions;
  }

  get size(): number {
    return this.#segments.size;
  }

  /** Whether a segment is there; no use of it. */
  has(hash: string): boolean {
    return this.#segments.has(hash);
  }

  get(hash: string): Segment | undefined {
    const segment = this.#segments.get(hash);
    if (segment === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    this.#segments.delete(hash);
    this.#segments.set(hash, segment);
    return segment;
  }

  /** Those of one kind; a hash of another kind is not there. */
  of<Kind extends Segment>(
    isOfKind: (segment: Segment) => segment is Kind,
  ): { get(hash: string): Kind | undefined; add(segment: Kind): void } {
    return {
      get: (hash) => {
        const segment = this.get(hash);
        return segment !== undefined && isOfKind(segment) ? segment : undefined;
      },
      add: (segment) => this.add(segment),
    };
  }

  add(segment: Segment): void {
    if (this.#segments.has(segment.hash)) return;
    this.#segments.set(segment.hash, segment);
    this.#bytes += sizeOf(segment);
    for (const oldest of this.#segments.values()) {
      if (this.#bytes <= this.#mostBytes || oldest === segment) break;
      this.#segments.delete(oldest.hash);
      this.#bytes -= sizeOf(oldest);
      this.#evictions++;
    }
  }
}

function sizeOf({ bytes }: SizedSegment): number {
  return bytes.length + OBJECT_BYTES;
}
