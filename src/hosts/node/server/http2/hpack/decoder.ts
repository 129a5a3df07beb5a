import { checkField } from "../fields/field-check.ts";
import { DynamicTable } from "./dynamic-table.ts";
import { HpackError } from "./hpack-error.ts";
import { decodeHuffman } from "./huffman.ts";
import { STATIC_LENGTH, staticName, staticValue } from "./static-table.ts";

/** A list of fields as it was decoded. */
export interface FieldList {
  /** Names and values in turn; undefined if there are more of them, or longer ones, than the limits allow. */
  readonly fields: readonly string[] | undefined;
  /** Which limit is exceeded. */
  readonly exceeds: "bytes" | "fields" | undefined;
  /** Why HTTP/2 does not allow a field of the list (RFC 9113 section 8.2); undefined if it allows all. */
  readonly malformed: string | undefined;
}

/** Bounds on a list of fields. */
export interface FieldListLimits {
  /** Bytes of all names and values. */
  readonly headerBytes: number;
  readonly headerFields: number;
}

/** No shift below makes an integer negative, and no valid one is larger: strings and indices are shorter than a block. */
const MOST_INTEGER = 1 << 24;
const MAX_TABLE_SIZE = 4096;

/** A string of Huffman codes, each of at least 5 bits, is at most 8/5 as long as its bytes. */
let scratch = Buffer.alloc(32 * 1024);

/** Between two blocks: an idle connection does not hold what it has read. */
const NONE = Buffer.alloc(0);

/**
 * Decodes the field blocks of one connection (RFC 7541). Every block has to be decoded, also of requests that are rejected: the table is common to
 * all of them. Fields beyond the limits are decoded and dropped.
 */
export class HpackDecoder {
  readonly #limits: FieldListLimits;
  readonly #table = new DynamicTable(MAX_TABLE_SIZE);
  #block: Buffer = NONE;
  #at = 0;
  #end = 0;
  #malformed: string | undefined;

  constructor(limits: FieldListLimits) {
    this.#limits = limits;
  }

  /**
   * Decodes the block in `bytes` from `start` to `end`.
   * @throws {HpackError} the connection cannot go on
   */
  decode(bytes: Buffer, start: number, end: number): FieldList {
    this.#block = bytes;
    this.#at = start;
    this.#end = end;
    this.#malformed = undefined;
    const { headerBytes, headerFields } = this.#limits;
    const fields: string[] = [];
    let size = 0;
    let count = 0;
    let mayResize = true;
    while (this.#at < end) {
      const byte = bytes[this.#at]!;
      let name: string;
      let value: string;
      if (byte >= 0x80) {
        const index = this.#integer(7);
        name = this.#nameAt(index);
        value = this.#valueAt(index);
      } else if (byte >= 0x40) {
        name = this.#name(6);
        value = this.#string();
        this.#add(name, value);
      } else if (byte >= 0x20) {
        // RFC 7541 section 4.2: at the beginning of a block only.
        if (!mayResize) throw new HpackError("a table size update follows a field");
        const tableSize = this.#integer(5);
        if (tableSize > MAX_TABLE_SIZE)
          throw new HpackError(`the table size ${tableSize} is larger than ${MAX_TABLE_SIZE}`);
        this.#table.resize(tableSize);
        continue;
      } else {
        name = this.#name(4);
        value = this.#string();
        this.#malformed ??= checkField(name, value);
      }
      mayResize = false;
      size += name.length + value.length;
      count++;
      if (size <= headerBytes && count <= headerFields) fields.push(name, value);
    }
    this.#block = NONE;
    const exceeds = count > headerFields ? "fields" : size > headerBytes ? "bytes" : undefined;
    return { fields: exceeds === undefined ? fields : undefined, exceeds, malformed: this.#malformed };
  }

  #add(name: string, value: string): void {
    const malformed = checkField(name, value);
    this.#malformed ??= malformed;
    this.#table.add(name, value, malformed === undefined);
  }

  #nameAt(index: number): string {
    if (index === 0) throw new HpackError("the index is 0");
    if (index <= STATIC_LENGTH) return staticName(index);
    return this.#table.name(this.#dynamic(index));
  }

  #valueAt(index: number): string {
    if (index <= STATIC_LENGTH) return staticValue(index);
    const dynamic = this.#dynamic(index);
    if (!this.#table.isValid(dynamic))
      this.#malformed ??= checkField(this.#nameAt(index), this.#table.value(dynamic));
    return this.#table.value(dynamic);
  }

  #dynamic(index: number): number {
    const dynamic = index - STATIC_LENGTH - 1;
    if (dynamic >= this.#table.length) throw new HpackError(`no entry has the index ${index}`);
    return dynamic;
  }

  /** The name of a literal: an index, or a string. */
  #name(prefix: number): string {
    const index = this.#integer(prefix);
    return index === 0 ? this.#string() : this.#nameAt(index);
  }

  /** RFC 7541 section 5.1. */
  #integer(prefix: number): number {
    const most = (1 << prefix) - 1;
    let value = this.#block[this.#at++]! & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) throw new HpackError("an integer is cut off");
      const byte = this.#block[this.#at++]!;
      value += (byte & 0x7f) << shift;
      if (value > MOST_INTEGER) break;
      if (byte < 0x80) return value;
    }
    throw new HpackError("an integer is too large");
  }

  /** RFC 7541 section 5.2. */
  #string(): string {
    if (this.#at >= this.#end) throw new HpackError("a string is missing");
    const isHuffman = this.#block[this.#at]! >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw new HpackError("a string is cut off");
    this.#at = end;
    if (!isHuffman) return this.#block.toString("latin1", start, end);
    if (2 * length > scratch.length) scratch = Buffer.alloc(2 * length);
    return scratch.toString("latin1", 0, decodeHuffman(this.#block, start, end, scratch));
  }
}
