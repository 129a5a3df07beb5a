/** Enough for an image of 100,000 endpoints. */
const RESERVED_BYTES = 12 * 1024 * 1024;

/**
 * Memory for the first image, allocated while an isolate starts. Touching new pages takes longer than filling them, and during the
 * start it does not count as CPU time of a request (docs/explanation/benchmarks.md).
 */
export class ReservedMemory {
  #reserve: ArrayBuffer | undefined;

  constructor(bytes: number) {
    this.#reserve = new ArrayBuffer(bytes);
  }

  /** The reserve for the first caller if it fills at least half of it; otherwise new memory. */
  readonly allocate = (bytes: number): ArrayBuffer => {
    const reserve = this.#reserve;
    this.release();
    const fits = reserve !== undefined && bytes <= reserve.byteLength && bytes >= reserve.byteLength / 2;
    return fits ? reserve : new ArrayBuffer(bytes);
  };

  /** Frees the reserve. */
  release(): void {
    this.#reserve = undefined;
  }
}

/** The reserve of this isolate. */
export const imageMemory = new ReservedMemory(RESERVED_BYTES);
