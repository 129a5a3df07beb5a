import { LONG_COUNT, write16, write32 } from "../zone/record-block.ts";

/** A growing byte array with big-endian writes, behind room for a header: offset 0 can mean "none". */
export class HeapWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length: number;

  /** @param start bytes of the header @param room for how many more bytes there is room at first */
  constructor(start: number, room: number) {
    this.#bytes = new Uint8Array(start + room);
    this.#length = start;
  }

  /** The offset of the next byte. */
  get length(): number {
    return this.#length;
  }

  /** The header's room and what was written; valid until the next write. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
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

  writeBytes(written: ArrayLike<number>): void {
    const at = this.#reserve(written.length);
    const bytes = this.#bytes;
    for (let index = 0; index < written.length; index++) bytes[at + index] = written[index]!;
  }

  /** Writes another 32-bit number over what is at an offset. */
  put32(at: number, value: number): void {
    write32(this.#bytes, at, value);
  }

  /** Writes a label of ASCII characters with its length byte. */
  writeLabel(label: string): void {
    this.write8(label.length);
    const at = this.#reserve(label.length);
    const bytes = this.#bytes;
    for (let index = 0; index < label.length; index++) bytes[at + index] = label.charCodeAt(index);
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
}
