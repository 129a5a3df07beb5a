import type { PartCollection } from "./part.ts";

/** How many changes of exports and imports of one cluster are stored, or about to be, and not in the index yet. */
export class ChangesAhead {
  readonly #counts = new Map<string, number>();

  add(collection: PartCollection, key: string): void {
    const name = nameOf(collection, key);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Takes over that the index has one more. @returns whether none is left */
  remove(collection: PartCollection, key: string): boolean {
    const name = nameOf(collection, key);
    const left = (this.#counts.get(name) ?? 1) - 1;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
    return left <= 0;
  }
}

function nameOf(collection: PartCollection, key: string): string {
  return `${collection}/${key}`;
}
