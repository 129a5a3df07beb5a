import { type AddressId, idOfWords, writeWords } from "./address-id.ts";

const NO_WORDS = new Uint32Array();
/** Addresses for which there is room at first. */
const FIRST = 8;
/** The words of the address that is looked for. */
const wanted = new Uint32Array(4);

/** Addresses of one length in ascending order, with a value each: 4 bytes for one of IPv4, 16 of IPv6, and a reference. */
export class AddressTable<Value> {
  values: Value[] = [];
  readonly #width: 1 | 4;
  #words = NO_WORDS;

  /** @param width 32-bit words of an address */
  constructor(width: 1 | 4) {
    this.#width = width;
  }

  get size(): number {
    return this.values.length;
  }

  idAt(index: number): AddressId {
    return idOfWords(this.#words, index * this.#width, this.#width);
  }

  /** The highest 32 bits of an address. */
  firstWordAt(index: number): number {
    return this.#words[index * this.#width]!;
  }

  /** The index of an address; where it is missing, -1 - that which it would have. */
  find(id: AddressId): number {
    writeWords(id, wanted);
    let low = 0;
    let high = this.values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#compareWanted(middle);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1 - low;
  }

  #compareWanted(index: number): number {
    const width = this.#width;
    for (let word = 0, at = index * width; word < width; word++, at++)
      if (this.#words[at] !== wanted[word]) return this.#words[at]! < wanted[word]! ? -1 : 1;
    return 0;
  }

  /** Inserts an address at the index that `find` says it would have. */
  insert(index: number, id: AddressId, value: Value): void {
    const width = this.#width;
    const used = this.values.length * width;
    if (used === this.#words.length) {
      const addresses = this.values.length;
      const grown = new Uint32Array(width * Math.max(FIRST, addresses + (addresses >> 1)));
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words.copyWithin((index + 1) * width, index * width, used);
    writeWords(id, wanted);
    for (let word = 0; word < width; word++) this.#words[index * width + word] = wanted[word]!;
    this.values.splice(index, 0, value);
  }

  /** Gives up the room for more addresses. */
  trim(): void {
    if (this.#words.length === this.values.length * this.#width) return;
    this.values = this.values.slice();
    this.#words = this.#words.slice(0, this.values.length * this.#width);
  }

  remove(index: number): void {
    const width = this.#width;
    this.#words.copyWithin(index * width, (index + 1) * width, this.values.length * width);
    this.values.splice(index, 1);
  }
}
