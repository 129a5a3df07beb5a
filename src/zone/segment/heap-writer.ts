import { HEAP_START, LONG_COUNT } from "./layout.ts";
import { write16, write32 } from "./record-block.ts";

const FIRST_BYTES = 1 << 10;
/** Longer ranges are copied by a call, which costs as much as so many bytes one by one. */
const SHORT_RANGE = 64;

/** A growing byte array with big-endian writes, behind room for a header: offset 0 can mean "none". */
export class HeapWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = HEAP_START;

  /** @param bytes for which there is room at first */
  constructor(bytes: number = FIRST_BYTES) {
    this.#bytes = new Uint8Array(bytes);
  }

  /** The offset of the next byte. */
  get length(): number {
    return this.#length;
  }

  /** The header's room and what was written; valid until the next write. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The same with room for more bytes; valid until the next write. */
  get buffer(): Uint8Array<ArrayBuffer> {
    return this.#bytes;
  }

  #reserve(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    return at;
  }

  write8(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  write16(value: number): void {
    const at = this.#reserve(2);
    write16(this.#bytes, at, value);
  }

  /** Writes a count in one byte, or, from 255 on, as the byte 255 and a 16-bit number. */
  writeCount(value: number): void {
    if (value < LONG_COUNT) this.write8(value);
    else {
      this.write8(LONG_COUNT);
      this.write16(value);
    }
  }

  write32(value: number): void {
    const at = this.#reserve(4);
    write32(this.#bytes, at, value);
  }

  writeBytes(written: ArrayLike<number>): void {
    const at = this.#reserve(written.length);
    const bytes = this.#bytes;
    for (let index = 0; index < written.length; index++) bytes[at + index] = written[index]!;
  }

  /** Writes the bytes from `start` to `end` of others. */
  writeRange(from: Uint8Array, start: number, end: number): void {
    const at = this.#reserve(end - start);
    const bytes = this.#bytes;
    if (end - start > SHORT_RANGE) bytes.set(from.subarray(start, end), at);
    else for (let index = start; index < end; index++) bytes[at + index - start] = from[index]!;
  }

  /** Writes another 16-bit number over what is at an offset. */
  put16(at: number, value: number): void {
    write16(this.#bytes, at, value);
  }

  /** Writes another 32-bit number over what is at an offset. */
  put32(at: number, value: number): void {
    write32(this.#bytes, at, value);
  }

  /** Writes a label of ASCII characters with its length byte. */
  writeLabel(label: string): void {
    this.write8(label.length);
    this.writeAscii(label);
  }

  /** Writes ASCII text without a length. */
  writeAscii(text: string): void {
    const at = this.#reserve(text.length);
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index++) bytes[at + index] = text.charCodeAt(index);
  }
}
