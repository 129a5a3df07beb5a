/** Frames that advance no request and that a client may send at once, and each second. */
const BURST = 10_000;
const PER_SECOND = 2_000;

/**
 * Counts frames that make a server work and advance no request: PING, SETTINGS, PRIORITY, RST_STREAM, WINDOW_UPDATE, unknown ones, and empty DATA
 * and CONTINUATION (RFC 9113 section 10.5).
 */
export class FloodBudget {
  readonly #clock: () => number;
  #left = BURST;
  #filledAt: number;

  /** @param clock milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#filledAt = clock();
  }

  /** A response made progress: the client may send two frames more, such as the WINDOW_UPDATE of stream and connection. */
  earn(): void {
    if (this.#left < BURST) this.#left += 2;
  }

  /** Whether the client may send another one. */
  take(): boolean {
    if (this.#left >= 1) {
      this.#left--;
      return true;
    }
    const now = this.#clock();
    this.#left = Math.min(BURST, ((now - this.#filledAt) * PER_SECOND) / 1000);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
