import type { Socket } from "node:net";
import type { QueryCounters } from "../../../answer/answer-query.ts";
import type { Dns } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { GatheredBytes } from "../../../http2/body.ts";
import type { ClientNetworks } from "../../../limits/client-rate.ts";
import type { Count } from "../../../limits/counters.ts";
import type { SharedClientCounts } from "../../../limits/shared.ts";
import type { Answer } from "../../../resolve/record-writer.ts";
import { type ConnectionPool, PooledConnection } from "../server/connection-pool.ts";
import type { AnswerMessage } from "./udp.ts";

/** What the listeners of one kind have in common: plain DNS over TCP, or DNS over TLS. */
export interface StreamParts {
  readonly kind: "dns" | "dot";
  /** A connection without queries and answers is closed after `idleSeconds`. */
  readonly settings: Pick<
    Dns,
    "connections" | "connectionsPerClient" | "idleSeconds" | "queriesPerConnection"
  >;
  readonly limits: Pick<ServeConfig["limits"], "queryBytes" | "handshakeSeconds">;
  /** Which addresses are one client. */
  readonly networks: Pick<ClientNetworks, "of">;
  /** The open connections in all threads, and those of each client. */
  readonly open: { readonly all: Count; readonly clients: SharedClientCounts };
  readonly counters: Pick<QueryCounters, "limits" | "errors">;
  readonly onError: (error: unknown) => void;
  /** Whether other threads listen on the same ports (SO_REUSEPORT). Default: no. */
  readonly reusePort?: boolean | undefined;
}

/** A connection for DNS. */
export class DnsConnection extends PooledConnection {
  /** Undefined while TLS is being negotiated. */
  stream: StreamConnection | undefined;
}

/**
 * One connection (RFC 7766): any number of queries, one after the other or many at once, each answered as
 * soon as possible. The gateway stops reading from a client that does not read its answers.
 */
export class StreamConnection {
  readonly #connection: DnsConnection;
  readonly #pool: ConnectionPool<DnsConnection>;
  readonly #socket: Socket;
  readonly #clientAddress: string;
  readonly #answerMessage: AnswerMessage;
  readonly #parts: StreamParts;
  readonly #framer: MessageFramer;
  #isBlocked = false;
  #hasEnded = false;

  /**
   * @param connection the one below TLS, which is in the pool
   * @param socket with `allowHalfOpen`
   */
  constructor(
    connection: DnsConnection,
    pool: ConnectionPool<DnsConnection>,
    socket: Socket,
    answer: AnswerMessage,
    parts: StreamParts,
  ) {
    this.#connection = connection;
    this.#pool = pool;
    this.#socket = socket;
    this.#answerMessage = answer;
    this.#parts = parts;
    this.#clientAddress = socket.remoteAddress ?? "";
    this.#framer = new MessageFramer(parts.limits.queryBytes);
    socket.on("data", (part) => this.#answerAll(part as Buffer));
    socket.on("drain", () => {
      this.#isBlocked = false;
      this.#pool.touch(this.#connection);
      this.#answerAll();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#answerAll();
    });
  }

  /** Whether as many queries wait for other name servers as may; further ones stay unread until then. */
  get #isFull(): boolean {
    return this.#connection.open >= this.#parts.settings.queriesPerConnection;
  }

  /** Closes it at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes it after its pending answers. */
  finish(): void {
    this.#hasEnded = true;
    this.#socket.pause();
    this.#endWhenDone();
  }

  #answerAll(part?: Uint8Array): void {
    const socket = this.#socket;
    // Answers to queries of one segment are sent together.
    socket.cork();
    try {
      if (part !== undefined) this.#framer.push(part);
      while (!this.#isBlocked && !this.#isFull && !socket.destroyed) {
        const query = this.#framer.next();
        if (query === undefined) break;
        this.#pool.touch(this.#connection);
        this.#answer(query);
      }
    } catch (error) {
      // The start of the next message is unknown.
      if (error instanceof MessageTooLong) this.#parts.counters.limits.hit("limits.queryBytes");
      else this.#parts.onError(error);
      socket.destroy();
    }
    socket.uncork();
    if (socket.destroyed) return;
    if (this.#isBlocked || this.#isFull) socket.pause();
    else if (socket.isPaused() && !this.#hasEnded) socket.resume();
    this.#endWhenDone();
  }

  #answer(query: Uint8Array): void {
    const { kind, counters } = this.#parts;
    const answered = this.#answerMessage(query, this.#clientAddress);
    if (!(answered instanceof Promise)) {
      this.#write(answered);
      return;
    }
    this.#pool.began(this.#connection, performance.now());
    if (this.#isFull) counters.limits.hit(`${kind}.queriesPerConnection`);
    void answered.then((answer) => {
      this.#write(answer);
      this.#pool.ended(this.#connection);
      this.#answerAll();
    });
  }

  #write(answer: Answer | undefined): void {
    // A client that sends other bytes than queries is not a DNS client.
    if (answer === undefined) this.#socket.destroy();
    else if (this.#socket.writable && !this.#socket.write(frameMessage(answer.bytes))) this.#isBlocked = true;
  }

  #endWhenDone(): void {
    if (this.#hasEnded && this.#connection.open === 0 && !this.#isBlocked) this.#socket.destroySoon();
  }
}

/** A message exceeds the longest accepted length. */
class MessageTooLong extends Error {
  readonly code = "MESSAGE_TOO_LONG";
}

const LENGTH_BYTES = 2;

/**
 * Cuts a stream into DNS messages, each after its length in two bytes (RFC 1035 section 4.2.2, RFC 7766
 * section 8).
 */
export class MessageFramer {
  readonly #longest: number;
  readonly #held = new GatheredBytes();

  /** @param longest the longest accepted message in bytes */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Adds received bytes. */
  push(part: Uint8Array): void {
    this.#held.add(part);
  }

  /**
   * The next whole message; undefined if it is incomplete. Its bytes are valid until the next call.
   * @throws {MessageTooLong} as soon as the length is known
   */
  next(): Uint8Array | undefined {
    const held = this.#held;
    if (held.length < LENGTH_BYTES) return undefined;
    const length = (held.at(0) << 8) | held.at(1);
    if (length > this.#longest)
      throw new MessageTooLong(`a message of ${length} bytes; at most ${this.#longest} are allowed`);
    const end = LENGTH_BYTES + length;
    return held.length < end ? undefined : held.take(end).subarray(LENGTH_BYTES);
  }
}

/** A message with its length in one buffer, so that both are sent in one segment (RFC 7766 section 8). */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  framed.writeUInt16BE(message.length);
  framed.set(message, LENGTH_BYTES);
  return framed;
}
