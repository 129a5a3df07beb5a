/** What one step does at most, in units: about a millisecond. */
export const UNITS_IN_STEP = 4096;
/** What an endpoint costs in each loop over endpoints, in units; copying a node costs one. */
export const ENDPOINT_UNITS = 16;

/** Measures the work between two yields of a generator, so that a step is short whatever it works on. */
export class Pace {
  #left = UNITS_IN_STEP;

  /** Takes over that so many units of work were done. @returns whether the step has ended: then the caller yields */
  isOver(units: number): boolean {
    this.#left -= units;
    if (this.#left > 0) return false;
    this.#left = UNITS_IN_STEP;
    return true;
  }
}
