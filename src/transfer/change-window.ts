import type { LogRow, Reader } from "../database/reader.ts";
import type { Mark } from "../names/key-changes.ts";

/** Changes after which the base moves, and keys of them. */
const MOST_CHANGES = 1024;
const MOST_KEYS = 4096;
/** A state has fewer changes than this, and about as many keys of them; those before are a part of their own. */
const RECENT = 64;
const RECENT_KEYS = 256;

/**
 * The newest changes of the log. A key that did not change since the base has one version as long as the base stays, so names in use are fetched anew
 * rarely. Changes are kept from the base before on, so that readers can follow when it moves.
 */
export class ChangeWindow {
  readonly #reader: Reader;
  /** What is before the first change. */
  #from: Mark;
  #base: Mark;
  #rows: LogRow[] = [];
  /** Of the changes since the base. */
  #keys = 0;
  #recent: Mark;
  #recentKeys = 0;

  /** @param at the newest position that is served */
  constructor(reader: Reader, at: number) {
    this.#reader = reader;
    this.#base = this.#from = this.#recent = this.#markAt(at - (at % MOST_CHANGES));
    this.follow(at);
  }

  get base(): Mark {
    return this.#base;
  }

  get newest(): Mark {
    return this.#rows.at(-1) ?? this.#from;
  }

  /** After which a state has the changes itself. */
  get recent(): Mark {
    return this.#recent;
  }

  /** Takes over the log up to a position. */
  follow(to: number): void {
    while (this.newest.position < to) {
      const rows = this.#reader.changesSince(this.newest.position, to - this.newest.position);
      if (rows === undefined || rows.length === 0) {
        this.#base = this.#from = this.#recent = this.#markAt(to);
        this.#rows = [];
        this.#keys = 0;
        this.#recentKeys = 0;
        return;
      }
      for (const row of rows) this.#take(row);
    }
  }

  #take(row: LogRow): void {
    this.#rows.push(row);
    this.#keys += row.keys?.length ?? 0;
    this.#recentKeys += row.keys?.length ?? 0;
    if (row.position % RECENT === 0 || this.#recentKeys > RECENT_KEYS) {
      this.#recent = row;
      this.#recentKeys = 0;
    }
    if (row.position - this.#base.position < MOST_CHANGES && this.#keys < MOST_KEYS) return;
    this.#rows = this.#rows.slice(this.#base.position - this.#from.position);
    this.#from = this.#base;
    this.#base = row;
    this.#keys = 0;
  }

  /** The changes after a mark, up to another one; undefined where it does not have both. */
  between(from: Mark, to: Mark): readonly LogRow[] | undefined {
    if (!this.has(from) || !this.has(to)) return undefined;
    const { position } = this.#from;
    return this.#rows.slice(from.position - position, to.position - position);
  }

  /** Whether the log has that change, as far as the window reaches. */
  has({ position, generation }: Mark): boolean {
    const mark =
      position === this.#from.position ? this.#from : this.#rows[position - this.#from.position - 1];
    return mark?.generation === generation;
  }

  #markAt(position: number): Mark {
    const row = position === 0 ? undefined : this.#reader.changesSince(position - 1, 1)?.[0];
    return { position, generation: row?.generation ?? 0 };
  }
}
