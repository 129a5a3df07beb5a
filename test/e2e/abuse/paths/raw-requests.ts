import { headerBlock, statusOf } from "../http2/header-block.ts";
import {
  Flag,
  FrameType,
  frame,
  type RawConnectionOptions,
  RawHttp2Connection,
  Setting,
  uint32,
} from "../http2/http2-frames.ts";

/** A response, read to its end; status 0 where the stream was reset. */
export interface RawResponse {
  readonly status: number;
  readonly text: string;
}

/** A request whose path goes out byte by byte as it is given. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const WINDOW = 0x3fffffff;

/** Requests over HTTP/2 that no client library has put right before. */
export class RawRequests {
  readonly #connection: RawHttp2Connection;
  readonly #waiting = new Map<
    number,
    { status: number; parts: Buffer[]; done: (one: RawResponse) => void }
  >();
  #stream = 1;

  private constructor(connection: RawHttp2Connection) {
    this.#connection = connection;
    connection.onFrame = ({ type, flags, stream, payload }) => {
      const waiting = this.#waiting.get(stream);
      if (waiting === undefined) return;
      if (type === FrameType.HEADERS) waiting.status ||= statusOf(payload);
      if (type === FrameType.DATA) waiting.parts.push(payload);
      const isReset = type === FrameType.RST_STREAM;
      if (!isReset && (type > FrameType.HEADERS || (flags & Flag.END_STREAM) === 0)) return;
      this.#waiting.delete(stream);
      waiting.done({ status: waiting.status, text: Buffer.concat(waiting.parts).toString() });
    };
  }

  static async open(options: RawConnectionOptions): Promise<RawRequests> {
    const settings = { [Setting.HEADER_TABLE_SIZE]: 0, [Setting.INITIAL_WINDOW_SIZE]: 1 << 24 };
    const connection = await RawHttp2Connection.open({ ...options, settings });
    connection.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(WINDOW)));
    return new RawRequests(connection);
  }

  /** @throws where the connection ends instead */
  async send({ method, path, fields = {}, body }: RawRequest): Promise<RawResponse> {
    const stream = this.#stream;
    this.#stream += 2;
    const answered = new Promise<RawResponse>((done) => {
      this.#waiting.set(stream, { status: 0, parts: [], done });
    });
    const whole = body === undefined ? Flag.END_STREAM : 0;
    const headers = frame(
      FrameType.HEADERS,
      Flag.END_HEADERS | whole,
      stream,
      headerBlock(method, path, fields),
    );
    this.#connection.send(headers);
    if (body !== undefined) this.#connection.send(frame(FrameType.DATA, Flag.END_STREAM, stream, body));
    return Promise.race([
      answered,
      this.#connection.closed.then((code) => {
        throw new Error(`${method} ${path.slice(0, 100)}: the connection ended (GOAWAY ${code})`);
      }),
    ]);
  }

  close(): void {
    this.#connection.close();
  }
}
