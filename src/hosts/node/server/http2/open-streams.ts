import type { Http2Stream } from "./stream.ts";

/**
 * The open streams of a connection. Most are opened and closed within one read: those never come into the map, which would cost a query more than its
 * frames.
 */
export class OpenStreams {
  /** Undefined until the first one comes into it. */
  #listed: Map<number, Http2Stream> | undefined;
  /** The streams that the current read has opened, by growing id. */
  #fresh: Http2Stream[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(streamId: number): Http2Stream | undefined {
    if (this.#fresh.length === 0 || streamId < this.#fresh[0]!.id) return this.#listed?.get(streamId);
    const found = findById(this.#fresh, streamId);
    return found?.listing === "closed" ? undefined : found;
  }

  /** All of them, the oldest first. */
  values(): Iterable<Http2Stream> {
    for (const stream of this.#fresh) this.#list(stream);
    return this.#listed?.values() ?? [];
  }

  /** Adds a stream that the current read opens. */
  add(stream: Http2Stream): void {
    this.#size++;
    this.#fresh.push(stream);
  }

  /** @returns false if it was closed already */
  delete(stream: Http2Stream): boolean {
    if (stream.listing === "closed") return false;
    if (stream.listing === "listed") this.#listed?.delete(stream.id);
    stream.listing = "closed";
    this.#size--;
    return true;
  }

  /** Ends a read: passes on the streams that it has opened and not closed. Those that stay open come into the map. */
  settle(take: (stream: Http2Stream) => void): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    for (const stream of fresh) {
      if (stream.listing === "closed") continue;
      take(stream);
      this.#list(stream);
    }
    this.#fresh = [];
  }

  #list(stream: Http2Stream): void {
    if (stream.listing !== "fresh") return;
    stream.listing = "listed";
    this.#listed ??= new Map();
    this.#listed.set(stream.id, stream);
  }
}

function findById(streams: readonly Http2Stream[], streamId: number): Http2Stream | undefined {
  let low = 0;
  let high = streams.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const stream = streams[middle]!;
    if (stream.id === streamId) return stream;
    if (stream.id < streamId) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}
