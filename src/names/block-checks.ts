import { MAX_LABEL_BYTES, MAX_NAME_BYTES, RecordType } from "../dns/codes.ts";
import {
  countEnd,
  fixedDataBytes,
  LONG_COUNT,
  read16,
  readCount,
  recordsOf,
  SetField,
  targetOf,
} from "../zone/record-block.ts";
import { check } from "./format.ts";

/** The bounds that record blocks are checked by. */
interface BlockBounds {
  /** The offset of the end of the heap. */
  readonly end: number;
  /** Their number. */
  readonly terms: number;
  readonly views: number;
}

/** Checks the record blocks in a heap. */
export class BlockChecks {
  /** The offsets that SRV records have as targets: whether they are names is left to the caller. */
  readonly targets: number[] = [];
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #terms: number;
  readonly #views: number;

  constructor(bytes: Uint8Array, { end, terms, views }: BlockBounds) {
    this.#bytes = bytes;
    this.#end = end;
    this.#terms = terms;
    this.#views = views;
  }

  /** Checks a block. @returns the offset after it @throws {FormatError} for anything that a look-up could follow out of the heap */
  check(block: number, hasVariants: boolean): number {
    const bytes = this.#bytes;
    let position = this.#checkList(block);
    if (!hasVariants) return position;
    const count = this.#checkCount(position);
    position = countEnd(bytes, position);
    for (let left = count; left > 0; left--) {
      this.#need(position, 2);
      check(read16(bytes, position) < this.#views, "a record block has an unknown view");
      position = this.#checkList(position + 2);
    }
    return position;
  }

  #checkCount(at: number): number {
    this.#need(at, 1);
    if (this.#bytes[at] === LONG_COUNT) this.#need(at, 3);
    return readCount(this.#bytes, at);
  }

  /** @returns the offset after the set list */
  #checkList(list: number): number {
    this.#need(list, 1);
    let set = list + 1;
    for (let left = this.#bytes[list]!; left > 0; left--) set = this.#checkSet(set);
    return set;
  }

  #checkSet(set: number): number {
    const bytes = this.#bytes;
    this.#need(set, SetField.count);
    const type = bytes[set]!;
    check(read16(bytes, set + SetField.terms) < this.#terms, "a set has unknown terms");
    const count = this.#checkCount(set + SetField.count);
    const fixed = fixedDataBytes(type);
    let at = recordsOf(bytes, set);
    if (fixed > 0) {
      this.#need(at, count * fixed);
      if (type === RecordType.SRV)
        for (let index = 0; index < count; index++) this.targets.push(targetOf(bytes, at + index * fixed));
      return at + count * fixed;
    }
    for (let index = 0; index < count; index++) {
      this.#need(at, 2);
      const length = read16(bytes, at);
      this.#need(at + 2, length);
      if (type === RecordType.CNAME) checkName(bytes, at + 2, length);
      at += 2 + length;
    }
    return at;
  }

  #need(at: number, length: number): void {
    check(at + length <= this.#end, "a record block ends outside the heap");
  }
}

/** Checks that RDATA is one name. */
function checkName(bytes: Uint8Array, start: number, length: number): void {
  const end = start + length;
  let at = start;
  while (at < end && bytes[at] !== 0) {
    check(bytes[at]! <= MAX_LABEL_BYTES, "a CNAME record has no name");
    at += bytes[at]! + 1;
  }
  check(at === end - 1 && length <= MAX_NAME_BYTES, "a CNAME record has no name");
}
