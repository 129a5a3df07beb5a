/** A message exceeds the longest accepted length. */
export class MessageTooLong extends Error {
  readonly code = "MESSAGE_TOO_LONG";
}

const LENGTH_BYTES = 2;

/** Cuts a stream into DNS messages, each after its length in two bytes (RFC 1035 section 4.2.2, RFC 7766 section 8). */
export class MessageFramer {
  readonly #longest: number;
  readonly #parts: Buffer[] = [];
  #held = 0;

  /** @param longest the longest accepted message in bytes */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** Adds received bytes. */
  push(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#held += part.length;
  }

  /**
   * The next whole message; undefined if it is incomplete. Its bytes are valid until the next call.
   * @throws {MessageTooLong} as soon as the length is known
   */
  next(): Buffer | undefined {
    const length = this.#peekLength();
    if (length === undefined) return undefined;
    if (length > this.#longest)
      throw new MessageTooLong(`a message of ${length} bytes; at most ${this.#longest} are allowed`);
    const end = LENGTH_BYTES + length;
    if (this.#held < end) return undefined;
    // Joined only here, once for each message: a client that sends single bytes must not cause a copy for each.
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const rest = whole.subarray(end);
    this.#parts.splice(0, this.#parts.length, ...(rest.length > 0 ? [rest] : []));
    this.#held = rest.length;
    return whole.subarray(LENGTH_BYTES, end);
  }

  #peekLength(): number | undefined {
    if (this.#held < LENGTH_BYTES) return undefined;
    const first = this.#parts[0]!;
    const second = first.length > 1 ? first[1]! : this.#parts[1]![0]!;
    return (first[0]! << 8) | second;
  }
}

/** A message with its length in one buffer, so that both are sent in one segment (RFC 7766 section 8). */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  framed.writeUInt16BE(message.length);
  framed.set(message, LENGTH_BYTES);
  return framed;
}
