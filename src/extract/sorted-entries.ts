import { compareText } from "./fields.ts";

/** Entries by key that become a record with sorted keys; an unchanged record keeps its identity. */
export class SortedEntries<Value> {
  readonly #values = new Map<string, Value>();
  #keys: readonly string[] | undefined;
  #record: Record<string, Value> | undefined;

  /** Sets an entry; undefined removes it. */
  set(key: string, value: Value | undefined): void {
    const before = this.#values.get(key);
    if (before === value) return;
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    if (before === undefined || value === undefined) this.#keys = undefined;
    this.#record = undefined;
  }

  /** The current entries; callers must not change them. */
  toRecord(): Record<string, Value> {
    if (this.#record !== undefined) return this.#record;
    this.#keys ??= [...this.#values.keys()].sort(compareText);
    const record: Record<string, Value> = {};
    for (const key of this.#keys) record[key] = this.#values.get(key)!;
    this.#record = record;
    return record;
  }
}
