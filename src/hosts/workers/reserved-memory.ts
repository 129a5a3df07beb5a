/** Enough for an image of 100,000 endpoints. */
const RESERVED_BYTES = 12 * 1024 * 1024;

/**
 * Memory for the first image, taken while an isolate starts. Touching fresh pages takes longer than filling them, and as part of the
 * start it does not count against the CPU time of a request (docs/explanation/benchmarks.md).
 */
export class ReservedMemory {
  #reserve: ArrayBuffer | undefined;

  constructor(octets: number) {
    this.#reserve = new ArrayBuffer(octets);
  }

  /** The reserve, for who asks first and fills at least half of it; otherwise fresh memory. Later the reserve is gone. */
  readonly allocate = (octets: number): ArrayBuffer => {
    const reserve = this.#reserve;
    this.release();
    const fits = reserve !== undefined && octets <= reserve.byteLength && octets >= reserve.byteLength / 2;
    return fits ? reserve : new ArrayBuffer(octets);
  };

  /** Gives the reserve up. */
  release(): void {
    this.#reserve = undefined;
  }
}

/** That of this isolate. */
export const imageMemory = new ReservedMemory(RESERVED_BYTES);
