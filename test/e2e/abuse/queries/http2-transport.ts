import { headerBlock, statusOf } from "../http2/header-block.ts";
import {
  Flag,
  type Frame,
  FrameType,
  frame,
  type RawConnectionOptions,
  RawHttp2Connection,
  Setting,
  uint32,
} from "../http2/http2-frames.ts";
import type { QueryTransport, Reaction } from "./query-transport.ts";

/** The gateway allows 128. */
const STREAMS = 100;
/** Longer queries than this do not fit into the header of a GET. */
const LONGEST_IN_PATH = 4096;
const LONGEST_FRAME = 16_384;
const WINDOW = 0x3fffffff;
/** Of so many queries four go by GET, one each by GET as a cluster, by POST as another one, and without a length; the others by POST. */
const FORMS = 20;
const ACCEPT = { accept: "application/dns-message" };
const SENT = { ...ACCEPT, "content-type": "application/dns-message" };

interface Asked {
  readonly index: number;
  status: number;
  readonly parts: Buffer[];
}

/** Sends queries over one HTTP/2 connection by POST and GET, with and without a length, from outside and in a cluster's view. */
export class Http2Transport implements QueryTransport {
  readonly name = "HTTP/2";
  readonly isDatagram = false;
  readonly noQuery = 400;
  readonly #connection: RawHttp2Connection;
  readonly #asked = new Map<number, Asked>();
  #reactions: Reaction[] = [];
  #queries: readonly Buffer[] = [];
  #next = 0;
  #left = 0;
  /** Frames that wait for the gateway's window. */
  readonly #waiting: Buffer[] = [];
  #stream = 1;
  #window = 65_535;
  #received = 0;
  #done: () => void = () => {};

  private constructor(connection: RawHttp2Connection) {
    this.#connection = connection;
    connection.onFrame = (one) => this.#take(one);
  }

  static async open(options: RawConnectionOptions): Promise<Http2Transport> {
    // Without a dynamic table a status is the same bytes each time.
    const settings = { [Setting.HEADER_TABLE_SIZE]: 0, [Setting.INITIAL_WINDOW_SIZE]: 1 << 20 };
    const connection = await RawHttp2Connection.open({ ...options, settings });
    connection.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(WINDOW)));
    return new Http2Transport(connection);
  }

  async exchange(queries: readonly Buffer[]): Promise<Reaction[]> {
    this.#queries = queries;
    this.#reactions = new Array<Reaction>(queries.length).fill("nothing");
    this.#next = 0;
    this.#left = queries.length;
    const answered = new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    this.#fill();
    const ended = await Promise.race([answered, this.#connection.closed.then((code) => ({ code }))]);
    if (ended !== undefined) throw new Error(`the connection ended (GOAWAY ${ended.code})`);
    return this.#reactions;
  }

  close(): void {
    this.#connection.close();
  }

  /** Sends queries until so many are in flight, or the gateway's window is full. */
  #fill(): void {
    const sent: Buffer[] = [];
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined) {
        if (this.#asked.size === STREAMS || this.#next === this.#queries.length) break;
        this.#waiting.push(...this.#request(this.#stream, this.#queries[this.#next]!, this.#next));
        this.#asked.set(this.#stream, { index: this.#next++, status: 0, parts: [] });
        this.#stream += 2;
        continue;
      }
      const length = first[3] === FrameType.DATA ? first.length - 9 : 0;
      if (length > this.#window) break;
      this.#window -= length;
      sent.push(first);
      this.#waiting.shift();
    }
    if (sent.length > 0) this.#connection.send(...sent);
  }

  #request(stream: number, query: Buffer, index: number): Buffer[] {
    const form = index % FORMS;
    if (form < 5 && query.length <= LONGEST_IN_PATH) {
      const path = `${form < 4 ? "" : "/clusters/cluster-a"}/dns-query?dns=${query.toString("base64url")}`;
      const flags = Flag.END_HEADERS | Flag.END_STREAM;
      return [frame(FrameType.HEADERS, flags, stream, headerBlock("GET", path, ACCEPT))];
    }
    const path = form === 5 ? "/clusters/cluster-b/dns-query" : "/dns-query";
    const fields = form === 6 ? SENT : { ...SENT, "content-length": String(query.length) };
    return [
      frame(FrameType.HEADERS, Flag.END_HEADERS, stream, headerBlock("POST", path, fields)),
      ...this.#data(stream, query),
    ];
  }

  #data(stream: number, query: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    for (let start = 0; start < query.length - LONGEST_FRAME; start += LONGEST_FRAME)
      frames.push(frame(FrameType.DATA, 0, stream, query.subarray(start, start + LONGEST_FRAME)));
    const rest = query.subarray(frames.length * LONGEST_FRAME);
    return [...frames, frame(FrameType.DATA, Flag.END_STREAM, stream, rest)];
  }

  #take({ type, flags, stream, payload }: Frame): void {
    if (type === FrameType.WINDOW_UPDATE && stream === 0) {
      this.#window += payload.readUInt32BE(0);
      this.#fill();
    }
    const asked = this.#asked.get(stream);
    if (asked === undefined) return;
    if (type === FrameType.HEADERS) asked.status = statusOf(payload);
    if (type === FrameType.DATA) {
      asked.parts.push(payload);
      this.#received += payload.length;
    }
    const isReset = type === FrameType.RST_STREAM;
    if (!isReset && (type > FrameType.HEADERS || (flags & Flag.END_STREAM) === 0)) return;
    this.#asked.delete(stream);
    const body = asked.parts.length === 1 ? asked.parts[0]! : Buffer.concat(asked.parts);
    this.#reactions[asked.index] = isReset ? "nothing" : asked.status === 200 ? body : asked.status;
    if (this.#received > WINDOW / 2) {
      this.#connection.send(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(this.#received)));
      this.#received = 0;
    }
    if (--this.#left === 0) this.#done();
    else if (this.#asked.size <= STREAMS / 2) this.#fill();
  }
}
