import type { RequestLine, ResponseFields } from "./fields.ts";
import { GatheredBytes } from "./gathered-bytes.ts";
import type { FieldListLimits } from "./hpack.ts";
import { DEFAULT_FRAME_SIZE, ErrorCode } from "./protocol.ts";

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** Begins a response; it is the whole one if the stream ends with it. */
  writeHeaders(stream: Http2Stream, status: number, fields: ResponseFields, endStream: boolean): void;
  /** Sends the whole body of a response in one frame; false if windows or socket do not allow it. */
  writeAtOnce(stream: Http2Stream, body: Uint8Array): boolean;
  /** Sends as much of `stream.output` as windows and socket allow. */
  writeBody(stream: Http2Stream): void;
  /** Gives bytes of the request back to the windows. */
  consumed(stream: Http2Stream, bytes: number): void;
  reset(stream: Http2Stream, code: ErrorCode): void;
}

/** A response: the bytes belong to the stream from then on. */
interface StreamResponse {
  readonly status: number;
  /** Names in any case; the values have no line ends. */
  readonly headers: ResponseFields;
  readonly body: Uint8Array | null;
  /** A body that is sent as it comes, instead of `body`. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

/** Bytes that wait for the peer's windows. */
interface Output {
  readonly parts: Uint8Array[];
  /** Of the first part. */
  sent: number;
  /** Whether the last part ends the stream. */
  isWhole: boolean;
}

/** One request with its response. */
export class Http2Stream {
  readonly id: number;
  /** Names and values in turn, as they came; empty if there are too many or too long ones. */
  readonly fields: readonly string[];
  readonly line: RequestLine;
  /** Which of the limits the request's fields exceed; they are not there then. */
  readonly exceeds: "bytes" | "fields" | undefined;
  /** When it began, in milliseconds of the connection's clock. */
  readonly beganAt: number;
  /** Whether it is open, and whether by the current read. */
  listing: "fresh" | "listed" | "closed" = "fresh";
  sendWindow: number;
  receiveWindow: number;
  /** Bytes of DATA so far. */
  received = 0;
  /** Bytes that were read since the last WINDOW_UPDATE. */
  unacknowledged = 0;
  /** The peer has sent all. */
  remoteEnded: boolean;
  /** This side has sent all. */
  localEnded = false;
  isReset = false;
  /** Called once, when nothing can come or go any more. */
  whenClosed: ((stream: Http2Stream) => void) | undefined;
  /** Called, before `whenClosed`, when the stream is closed before both sides have ended it. */
  whenCutOff: (() => void) | undefined;
  hasResponded = false;
  output: Output | undefined;
  readonly #owner: StreamOwner;
  /**
   * A body that came in one frame with the end of the request: the bytes of the read, until somebody takes
   * them.
   */
  #whole: Uint8Array<ArrayBuffer> | undefined;
  #body: BodyReader | undefined;
  #drained: (() => void) | undefined;
  #cancel: (() => void) | undefined;

  constructor(
    owner: StreamOwner,
    begun: Pick<
      Http2Stream,
      "id" | "fields" | "line" | "exceeds" | "beganAt" | "sendWindow" | "receiveWindow"
    >,
    remoteEnded: boolean,
  ) {
    this.#owner = owner;
    this.id = begun.id;
    this.fields = begun.fields;
    this.line = begun.line;
    this.exceeds = begun.exceeds;
    this.beganAt = begun.beganAt;
    this.sendWindow = begun.sendWindow;
    this.receiveWindow = begun.receiveWindow;
    this.remoteEnded = remoteEnded;
  }

  /** Whether nothing can come or go any more. */
  get isClosed(): boolean {
    return this.isReset || (this.localEnded && this.remoteEnded);
  }

  /**
   * A field with all of its values (cookies: RFC 9113 section 8.2.3); null if it is absent.
   * @param name in lower case
   */
  field(name: string): string | null {
    let value: string | null = null;
    const { fields } = this;
    for (let at = 0; at < fields.length; at += 2) {
      if (fields[at] !== name) continue;
      value =
        value === null ? fields[at + 1]! : `${value}${name === "cookie" ? "; " : ", "}${fields[at + 1]}`;
    }
    return value;
  }

  /** The request's body. */
  get body(): BodyReader {
    this.#body ??= this.#newBody();
    return this.#body;
  }

  /**
   * The whole body; undefined once it is longer than `most` bytes. Without a promise if it is there, and then
   * its bytes may change after the turn.
   * @throws {BodyCutOff}
   */
  collect(most: number): ReturnType<BodyReader["collect"]> {
    const whole = this.#whole;
    if (whole === undefined) return this.body.collect(most);
    this.#whole = undefined;
    this.#owner.consumed(this, whole.length);
    return whole.length > most ? undefined : whole;
  }

  /**
   * Sends the response. What is left of the request's body is read and dropped (RFC 9113 section 8.1).
   * @throws {Error} if there was a response
   * @throws {TypeError} for a value with a line end
   */
  respond({ status, headers, body, stream: parts }: StreamResponse): void {
    if (this.isClosed) {
      void parts?.cancel().catch(() => {});
      return;
    }
    if (this.hasResponded) throw new Error(`stream ${this.id} has a response already`);
    const isEmpty = parts === undefined && (body === null || body.length === 0);
    const endStream = isEmpty || this.line.method === "HEAD";
    this.#owner.writeHeaders(this, status, headers, endStream);
    this.hasResponded = true;
    if (endStream) void parts?.cancel().catch(() => {});
    else if (parts !== undefined) void this.#sendAll(parts);
    else if (!this.#owner.writeAtOnce(this, body!)) {
      this.output = { parts: [body!], sent: 0, isWhole: true };
      this.#owner.writeBody(this);
    }
    if (!this.remoteEnded && !this.isReset) this.body.drop();
  }

  /** Ends the stream without a response, or in the middle of it. */
  reset(code: ErrorCode): void {
    this.#owner.reset(this, code);
  }

  /** Takes bytes of the request's body. */
  take(bytes: Uint8Array): void {
    this.body.take(bytes);
  }

  /** Takes the only bytes of a body, without a copy until the read ends: `ended` follows. */
  takeOnly(bytes: Uint8Array<ArrayBuffer>): void {
    this.#whole = bytes;
  }

  /** The read ends: the unread part of it is copied. */
  keepBody(): void {
    if (this.#whole !== undefined) void this.body;
  }

  /** The request is complete. */
  ended(): void {
    this.remoteEnded = true;
    this.#body?.end();
  }

  /** The output is sent, or the stream is closed. */
  drained(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.();
  }

  /** The stream is closed: nothing comes or goes any more. */
  closed(): void {
    if (this.#whole !== undefined) this.#owner.consumed(this, this.#whole.length);
    this.#whole = undefined;
    this.#body?.close();
    this.output = undefined;
    this.#cancel?.();
    this.drained();
    if (this.isReset) this.whenCutOff?.();
    this.whenClosed?.(this);
  }

  #newBody(): BodyReader {
    const owner = this.#owner;
    const body = new BodyReader({
      consumed: (bytes) => owner.consumed(this, bytes),
      wanted: () => this.#wanted(),
    });
    if (this.#whole !== undefined) body.take(this.#whole);
    this.#whole = undefined;
    if (this.remoteEnded) body.end();
    if (this.isClosed) body.close();
    return body;
  }

  /** RFC 9110 section 10.1.1: the client waits with the body until the server requests it. */
  #wanted(): void {
    if (this.received > 0 || this.remoteEnded || this.hasResponded || this.isReset) return;
    if (this.field("expect")?.toLowerCase() === "100-continue")
      this.#owner.writeHeaders(this, 100, {}, false);
  }

  async #sendAll(parts: ReadableStream<Uint8Array>): Promise<void> {
    const reader = parts.getReader();
    this.#cancel = () => void reader.cancel().catch(() => {});
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (this.isReset) return;
        this.output = { parts: value === undefined ? [] : [value], sent: 0, isWhole: done };
        this.#owner.writeBody(this);
        if (done) return;
        if (this.output !== undefined && !this.isReset)
          await new Promise<void>((resolve) => {
            this.#drained = resolve;
          });
      }
    } catch {
      this.reset(ErrorCode.INTERNAL_ERROR);
    }
  }
}

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

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The body of a request. Its bytes wait here until somebody reads them; the stream's window bounds how many.
 */
class BodyReader {
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

/** Bounds on a connection. */
export interface Http2Limits extends FieldListLimits {
  /** Requests at once; further ones are refused with REFUSED_STREAM. */
  readonly streams: number;
}

/** What happens on a connection. No listener may throw. */
export interface Http2Events {
  /** A request has come, with its body or the beginning of it; `stream.respond` answers it, now or later. */
  request(stream: Http2Stream): void;
  /**
   * A stream was reset because of what the client sent: clients that do it again and again make work for
   * nothing (CVE-2023-44487, CVE-2025-8671).
   */
  reset(): void;
  /**
   * The client sent too many frames that advance no request, or a field block that is far too long; the
   * connection ends.
   */
  flooded(): void;
  /** The client broke the protocol, and the connection ends. */
  failed(error: Error): void;
}
