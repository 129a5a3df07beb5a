import type { Socket } from "node:net";
import type { Answer } from "../../../resolve/answer.ts";
import { frameMessage, MessageFramer, MessageTooLong } from "./framing.ts";
import type { AnswerMessage } from "./udp.ts";

/** The parts of a connection over TCP or TLS. */
export interface StreamParts {
  readonly answer: AnswerMessage;
  /** The longest query in bytes. */
  readonly queryBytes: number;
  /** The most queries that wait for other name servers at the same time; further queries stay unread until then. */
  readonly queriesPerConnection: number;
  readonly onError: (error: Error) => void;
  /** Counts connections that end because a query was too long, and pauses in reading. */
  readonly onTooLong: () => void;
  readonly onFull: () => void;
}

/**
 * One connection (RFC 7766): any number of queries, one after the other or many at once, each answered as soon as
 * possible. The gateway stops reading from a client that does not read its answers.
 */
export class StreamConnection {
  /** The last query or sent answer, by `performance.now()`. */
  activeAt = performance.now();
  /** Called when that changes. */
  onActive = () => {};
  readonly #socket: Socket;
  readonly #clientAddress: string;
  readonly #parts: StreamParts;
  readonly #framer: MessageFramer;
  #inFlight = 0;
  #isBlocked = false;
  #hasEnded = false;

  /** @param socket with `allowHalfOpen` */
  constructor(socket: Socket, parts: StreamParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#clientAddress = socket.remoteAddress ?? "";
    this.#framer = new MessageFramer(parts.queryBytes);
    socket.on("data", (part) => this.#answerAll(part as Buffer));
    socket.on("drain", () => {
      this.#isBlocked = false;
      this.#active();
      this.#answerAll();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#answerAll();
    });
  }

  /** Whether queries are pending. */
  get isBusy(): boolean {
    return this.#inFlight > 0;
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

  #answerAll(part?: Buffer): void {
    const socket = this.#socket;
    // Answers to queries of one segment are sent together.
    socket.cork();
    try {
      if (part !== undefined) this.#framer.push(part);
      while (!this.#isBlocked && this.#inFlight < this.#parts.queriesPerConnection && !socket.destroyed) {
        const query = this.#framer.next();
        if (query === undefined) break;
        this.#active();
        this.#answer(query);
      }
    } catch (error) {
      // The start of the next message is unknown.
      if (error instanceof MessageTooLong) this.#parts.onTooLong();
      else this.#parts.onError(error as Error);
      socket.destroy();
    }
    socket.uncork();
    if (socket.destroyed) return;
    if (this.#isBlocked || this.#inFlight >= this.#parts.queriesPerConnection) socket.pause();
    else if (socket.isPaused() && !this.#hasEnded) socket.resume();
    this.#endWhenDone();
  }

  #answer(query: Buffer): void {
    const { answer: answerMessage, onError } = this.#parts;
    const answered = answerMessage(query, this.#clientAddress);
    if (!(answered instanceof Promise)) {
      this.#write(answered);
      return;
    }
    if (++this.#inFlight === this.#parts.queriesPerConnection) this.#parts.onFull();
    answered
      .then((answer) => this.#write(answer))
      .catch((error: Error) => {
        onError(error);
        this.#socket.destroy();
      })
      .finally(() => {
        this.#inFlight--;
        this.#answerAll();
      });
  }

  #active(): void {
    this.activeAt = performance.now();
    this.onActive();
  }

  #write(answer: Answer | undefined): void {
    // A client that sends other bytes than queries is not a DNS client.
    if (answer === undefined) this.#socket.destroy();
    else if (this.#socket.writable && !this.#socket.write(frameMessage(answer.bytes))) this.#isBlocked = true;
  }

  #endWhenDone(): void {
    if (this.#hasEnded && this.#inFlight === 0 && !this.#isBlocked) this.#socket.destroySoon();
  }
}
