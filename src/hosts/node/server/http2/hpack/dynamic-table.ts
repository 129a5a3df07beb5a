/** What an entry costs beside its name and value (RFC 7541 section 4.1). */
const ENTRY_OVERHEAD = 32;

/** A decoder's dynamic table: the newest entry has index 0. Sizes are as in RFC 7541 section 4.1. */
export class DynamicTable {
  readonly #names: string[] = [];
  readonly #values: string[] = [];
  readonly #valid: boolean[] = [];
  /** The oldest entry's place in the arrays; those before it are evicted. */
  #oldest = 0;
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get length(): number {
    return this.#names.length - this.#oldest;
  }

  get size(): number {
    return this.#size;
  }

  name(index: number): string {
    return this.#names[this.#names.length - 1 - index]!;
  }

  value(index: number): string {
    return this.#values[this.#values.length - 1 - index]!;
  }

  /** Whether HTTP/2 allows the entry as a field. */
  isValid(index: number): boolean {
    return this.#valid[this.#valid.length - 1 - index]!;
  }

  /** Evicts entries until the table is no larger (RFC 7541 section 4.3). */
  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict(maxSize);
  }

  /** Adds an entry; one that is larger than the table empties it (RFC 7541 section 4.4). */
  add(name: string, value: string, isValid: boolean): void {
    const size = name.length + value.length + ENTRY_OVERHEAD;
    this.#evict(this.#maxSize - size);
    if (size > this.#maxSize) return;
    this.#names.push(name);
    this.#values.push(value);
    this.#valid.push(isValid);
    this.#size += size;
  }

  #evict(size: number): void {
    while (this.#size > size && this.length > 0) {
      const oldest = this.#oldest++;
      this.#size -= this.#names[oldest]!.length + this.#values[oldest]!.length + ENTRY_OVERHEAD;
      this.#names[oldest] = "";
      this.#values[oldest] = "";
    }
    if (this.#oldest < 64 || this.#oldest < this.length) return;
    for (const column of [this.#names, this.#values, this.#valid]) column.splice(0, this.#oldest);
    this.#oldest = 0;
  }
}
