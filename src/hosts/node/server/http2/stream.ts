import { BodyReader } from "./body-reader.ts";
import type { RequestLine } from "./fields/request-fields.ts";
import type { ResponseFields } from "./fields/response-fields.ts";
import { ErrorCode } from "./protocol.ts";

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
export interface StreamResponse {
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
  /** A body that came in one frame with the end of the request: the bytes of the read, until somebody takes them. */
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

  /** A field with all of its values (cookies: RFC 9113 section 8.2.3); null if it is absent. @param name in lower case */
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
   * The whole body; undefined once it is longer than `most` bytes. Without a promise if it is there, and then its bytes may change after the turn.
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
  takeWhole(bytes: Uint8Array<ArrayBuffer>): void {
    this.#whole = bytes;
  }

  /** The read ends: what nobody has taken of it is copied. */
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

  /** RFC 9110 section 10.1.1: the client waits with the body until it is asked for it. */
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
