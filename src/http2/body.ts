import { DEFAULT_FRAME_SIZE } from "./protocol.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const NONE: Bytes = new Uint8Array(0);

/** A body that ended before it was complete: the stream was reset, or the connection closed. */
export class BodyCutOff extends Error {
  constructor() {
    super("the body ended before it was complete");
  }
}

/** The most bytes of an unused body that are read and dropped (RFC 9113 section 8.1). */
const MOST_DROPPED = 64 * 1024 * 1024;

/** What a body needs of its stream. */
interface BodySource {
  /** The peer may send so many bytes more. */
  consumed(bytes: number): void;
  /** Somebody waits for the body. */
  wanted(): void;
}

/**
 * The body of a request. Its bytes wait here until somebody reads them; the stream's window bounds how many.
 */
export class BodyReader {
  readonly #source: BodySource;
  /** Small frames share one. */
  #parts: GatheredBytes[] = [];
  #isWhole = false;
  #isCut = false;
  #isClosed = false;
  #mode: "held" | "collected" | "streamed" | "dropped" = "held";
  #size = 0;
  #most = 0;
  /** Settles what the reader waits for. */
  #changed: (() => void) | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** Whether so much of an unwanted body has come that the peer should stop. */
  get isTooMuch(): boolean {
    return this.#mode === "dropped" && this.#size > MOST_DROPPED;
  }

  /** Takes a copy of the next bytes. */
  take(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#mode === "dropped") {
      this.#consumed(bytes.length);
      return;
    }
    this.#hold(bytes);
    if (this.#mode === "collected") this.#consumed(bytes.length);
    this.#changed?.();
  }

  /** No more bytes come. */
  end(): void {
    this.#isWhole = true;
    this.#changed?.();
  }

  /**
   * The stream is closed: no more bytes come, and those that wait take no place in its connection's window.
   */
  close(): void {
    if (this.#mode === "held" || this.#mode === "streamed") this.#consumed(lengthOf(this.#parts));
    this.#isClosed = true;
    if (this.#isWhole) return;
    this.#isCut = true;
    this.#parts = [];
    this.#changed?.();
  }

  /** From now on bytes are read and dropped. */
  drop(): void {
    if (this.#mode === "dropped") return;
    const held = this.#mode === "held" || this.#mode === "streamed" ? lengthOf(this.#parts) : 0;
    this.#mode = "dropped";
    this.#parts = [];
    this.#size = held;
    this.#consumed(held);
  }

  /**
   * The whole body; undefined once it is longer than `most` bytes. Without a promise if it is there.
   * @throws {BodyCutOff}
   */
  collect(most: number): Bytes | undefined | Promise<Bytes | undefined> {
    this.#mode = "collected";
    this.#most = most;
    const held = lengthOf(this.#parts);
    this.#consumed(held);
    const done = this.#collected();
    if (done !== undefined) return done.body;
    this.#source.wanted();
    return new Promise((resolve, reject) => {
      this.#changed = () => {
        try {
          const done = this.#collected();
          if (done === undefined) return;
          this.#changed = undefined;
          resolve(done.body);
        } catch (error) {
          this.#changed = undefined;
          reject(error);
        }
      };
    });
  }

  /**
   * The whole body, if it is there and at most `most` bytes long; otherwise undefined, and then it is still
   * to be read.
   */
  whole(most: number): Bytes | undefined {
    if (!this.#isWhole || this.#size > most) return undefined;
    this.#mode = "collected";
    this.#most = most;
    this.#consumed(this.#size);
    return this.#collected()?.body;
  }

  /** The body as it comes, no faster than it is read. */
  stream(): ReadableStream<Bytes> {
    this.#mode = "streamed";
    const pass = (controller: ReadableStreamDefaultController<Bytes>): boolean => {
      const part = this.#parts.shift()?.take();
      if (part !== undefined) {
        controller.enqueue(part);
        this.#consumed(part.length);
      } else if (this.#isCut) controller.error(new BodyCutOff());
      else if (this.#isWhole) controller.close();
      else return false;
      return true;
    };
    return new ReadableStream<Bytes>(
      {
        pull: (controller) => {
          if (pass(controller)) return undefined;
          this.#source.wanted();
          return new Promise<void>((resolve) => {
            this.#changed = () => {
              this.#changed = undefined;
              pass(controller);
              resolve();
            };
          });
        },
        cancel: () => {
          this.#changed?.();
          this.drop();
        },
      },
      { highWaterMark: 0 },
    );
  }

  #hold(bytes: Uint8Array): void {
    const last = this.#parts.at(-1);
    if (last !== undefined && last.length + bytes.length <= DEFAULT_FRAME_SIZE) {
      last.add(bytes);
      return;
    }
    const part = new GatheredBytes();
    part.add(new Uint8Array(bytes));
    this.#parts.push(part);
  }

  #consumed(bytes: number): void {
    if (bytes > 0 && !this.#isClosed) this.#source.consumed(bytes);
  }

  #collected(): { readonly body: Bytes | undefined } | undefined {
    if (this.#isCut) throw new BodyCutOff();
    if (this.#size > this.#most) {
      this.drop();
      return { body: undefined };
    }
    if (!this.#isWhole) return undefined;
    const [first, ...others] = this.#parts.map((part) => part.take());
    this.#parts = [];
    if (first === undefined) return { body: new Uint8Array(0) };
    return { body: others.length === 0 ? first : new Uint8Array(Buffer.concat([first, ...others])) };
  }
}

function lengthOf(parts: readonly GatheredBytes[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/**
 * Bytes that come in parts. One part alone stays as it is. Further ones are copied into a buffer that
 * doubles: kept as they are, parts of one byte each take 25 to 370 times their size.
 */
export class GatheredBytes {
  #bytes = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#bytes[index]!;
  }

  /** Adds a part. The caller may reuse its memory, unless it is the only one. */
  add(part: Uint8Array): void {
    const before = this.#length;
    this.#length += part.length;
    if (before === 0) {
      this.#bytes = part as Bytes;
      return;
    }
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes.subarray(0, before));
      this.#bytes = larger;
    }
    this.#bytes.set(part, before);
  }

  /** Removes the first bytes, without a copy. Default: all of them. */
  take(count = this.#length): Bytes {
    // The caller may transfer what it takes to another thread.
    const taken = count === 0 ? new Uint8Array(0) : this.#bytes.subarray(0, count);
    const rest = this.#bytes.subarray(count, this.#length);
    this.#length = rest.length;
    this.#bytes = rest.length === 0 ? NONE : rest;
    return taken;
  }
}
