import type { Socket } from "node:net";
import type { Answer } from "../../../resolve/answer.ts";
import type { AnswerMessage } from "./answer-message.ts";
import { frameMessage, MessageFramer, MessageTooLong } from "./framing.ts";

/** What a connection over TCP or TLS works with. */
export interface StreamParts {
  readonly answer: AnswerMessage;
  /** The longest query in octets. */
  readonly longestQuery: number;
  /** Queries that may wait for other name servers at the same time; the next ones stay unread until then. */
  readonly mostInFlight: number;
  readonly onError: (error: Error) => void;
  /** Told of a connection that ends because a query was too long, and of one from which no more is read for now. */
  readonly onTooLong: () => void;
  readonly onFull: () => void;
}

/**
 * One connection (RFC 7766): any number of queries, one after the other or many at once, each answered as soon as its answer is
 * there. Who does not take answers is not read from any more.
 */
export class StreamConnection {
  /** When it last did something useful, a query or an answer that was taken; by `performance.now()`. */
  activeAt: number;
  readonly #socket: Socket;
  readonly #clientAddress: string;
  readonly #parts: StreamParts;
  readonly #framer: MessageFramer;
  #inFlight = 0;
  #isBlocked = false;
  #hasEnded = false;

  /** @param socket which allows to be half open */
  constructor(socket: Socket, parts: StreamParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#clientAddress = socket.remoteAddress ?? "";
    this.#framer = new MessageFramer(parts.longestQuery);
    this.activeAt = performance.now();
    socket.on("data", (part) => this.#answerAll(part as Buffer));
    socket.on("drain", () => {
      this.#isBlocked = false;
      this.activeAt = performance.now();
      this.#answerAll();
    });
    socket.on("end", () => {
      this.#hasEnded = true;
      this.#answerAll();
    });
  }

  /** Whether queries wait for their answers. */
  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  /** Cuts it off. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Lets answers that are on their way leave, then closes it. */
  finish(): void {
    this.#hasEnded = true;
    this.#socket.pause();
    this.#endWhenDone();
  }

  #answerAll(part?: Buffer): void {
    const socket = this.#socket;
    // Answers to queries that came together leave together.
    socket.cork();
    try {
      if (part !== undefined) this.#framer.push(part);
      while (!this.#isBlocked && this.#inFlight < this.#parts.mostInFlight && !socket.destroyed) {
        const query = this.#framer.next();
        if (query === undefined) break;
        this.activeAt = performance.now();
        this.#answer(query);
      }
    } catch (error) {
      // Where the next message starts cannot be told any more.
      if (error instanceof MessageTooLong) this.#parts.onTooLong();
      else this.#parts.onError(error as Error);
      socket.destroy();
    }
    socket.uncork();
    if (socket.destroyed) return;
    if (this.#isBlocked || this.#inFlight >= this.#parts.mostInFlight) socket.pause();
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
    if (++this.#inFlight === this.#parts.mostInFlight) this.#parts.onFull();
    answered
      .then(
        (answer) => this.#write(answer),
        (error: Error) => {
          onError(error);
          this.#socket.destroy();
        },
      )
      .finally(() => {
        this.#inFlight--;
        this.#answerAll();
      });
  }

  #write(answer: Answer | undefined): void {
    // What is no query says that this is no client of ours.
    if (answer === undefined) this.#socket.destroy();
    else if (this.#socket.writable && !this.#socket.write(frameMessage(answer.bytes))) this.#isBlocked = true;
  }

  #endWhenDone(): void {
    if (this.#hasEnded && this.#inFlight === 0 && !this.#isBlocked) this.#socket.destroySoon();
  }
}
