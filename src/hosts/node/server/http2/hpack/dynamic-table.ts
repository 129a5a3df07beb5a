/** What an entry costs beside its name and value (RFC 7541 section 4.1). */
const ENTRY_OVERHEAD = 32;

/** Places of an entry in the array: its name, its value, and whether HTTP/2 allows it as a field. */
const PLACES = 3;

/**
 * A decoder's dynamic table: the newest entry has index 0. Sizes are as in RFC 7541 section 4.1. One array for all entries, since Node makes each array longer
 * than it has to be, and most tables have few entries.
 */
export class DynamicTable {
  readonly #places: (string | boolean)[] = [];
  /** The place of the oldest entry; those before it are evicted. */
  #oldest = 0;
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get length(): number {
    return (this.#places.length - this.#oldest) / PLACES;
  }

  get size(): number {
    return this.#size;
  }

  name(index: number): string {
    return this.#places[this.#place(index)] as string;
  }

  value(index: number): string {
    return this.#places[this.#place(index) + 1] as string;
  }

  /** Whether HTTP/2 allows the entry as a field. */
  isValid(index: number): boolean {
    return this.#places[this.#place(index) + 2] as boolean;
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
    this.#places.push(name, value, isValid);
    this.#size += size;
  }

  #place(index: number): number {
    return this.#places.length - PLACES * (index + 1);
  }

  #evict(size: number): void {
    const places = this.#places;
    while (this.#size > size && this.#oldest < places.length) {
      const oldest = this.#oldest;
      this.#size -=
        (places[oldest] as string).length + (places[oldest + 1] as string).length + ENTRY_OVERHEAD;
      places[oldest] = "";
      places[oldest + 1] = "";
      this.#oldest += PLACES;
    }
    if (this.#oldest < 64 * PLACES || this.#oldest < places.length / 2) return;
    places.splice(0, this.#oldest);
    this.#oldest = 0;
  }
}
