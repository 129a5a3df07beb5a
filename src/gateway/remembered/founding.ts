import * as z from "zod";
import { CLOCK_TOLERANCE, FIRST_SERVICE_EXPORT } from "./judge.ts";

/** How long the gateway's first day is, on which reported creation times count, in milliseconds. */
export const FOUNDING = 86_400_000;
export const FOUNDING_RECORD = "@founding";

const FoundingRecord = z.strictObject({ at: z.number(), over: z.boolean() });

/** The first day of a gateway, which has no memory before it. Once it has ended it never comes back, whatever the clock says. */
export class Founding {
  #at: number | undefined;
  #isOver: boolean;

  private constructor(at: number | undefined, isOver: boolean) {
    this.#at = at;
    this.#isOver = isOver;
  }

  /** The day as it was kept; undefined for a value that is no such record. */
  static read(value: unknown): Founding | undefined {
    const { data } = FoundingRecord.safeParse(value);
    return data && new Founding(data.at, data.over);
  }

  /** A day that begins with the first plausible time. */
  static begin(): Founding {
    return new Founding(undefined, false);
  }

  /** A day that has ended: what was remembered of it is lost, or void. */
  static over(): Founding {
    return new Founding(0, true);
  }

  /** When it began, in Unix milliseconds; undefined before the clock was set. */
  get at(): number | undefined {
    return this.#at;
  }

  /** Whether it began in the future, so that the clock was wrong then or is wrong now. */
  contradicts(now: number): boolean {
    return !this.#isOver && this.#at !== undefined && now < this.#at - CLOCK_TOLERANCE;
  }

  /**
   * Lets the day begin, or end for ever.
   * @param now what the clock says
   * @param latest the latest time that is remembered: a clock that goes back does not bring the day back
   * @returns whether that has to be kept
   */
  pass(now: number, latest: number): boolean {
    if (this.#isOver) return false;
    if (this.#at === undefined) {
      if (now < FIRST_SERVICE_EXPORT) return false;
      this.#at = now;
      return true;
    }
    this.#isOver = this.contradicts(now) || Math.max(now, latest) > this.#at + FOUNDING;
    return this.#isOver;
  }

  /** Whether reported creation times count as they are. */
  get isOn(): boolean {
    return !this.#isOver;
  }

  toRecord(): z.infer<typeof FoundingRecord> {
    return { at: this.#at ?? 0, over: this.#isOver };
  }
}
