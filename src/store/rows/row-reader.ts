import type { FollowingState } from "../../snapshot/held/held-tables.ts";
import { MOST_PACKED_CHARACTERS, type Packed } from "../../snapshot/held/packed-entry.ts";
import { sharedText } from "../../snapshot/held/shared-text.ts";
import { ownMember } from "../../snapshot/json-value.ts";
import type { Single } from "../../snapshot/lines/patch-line.ts";
import type { Collection, EntryOf } from "../../snapshot/parse.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import { isShared, placeOf, placeOfEntry, type RowPlace, type RowValues, rowsOf } from "./entry-rows.ts";
import type { RowTable } from "./row-table.ts";

/** Shared rows that stay parsed: keys come row by row. */
const MOST_PARSED = 8;

/**
 * The entries of a cluster, read one by one, so that memory need not hold them. What it reads was validated when it was pushed, and has a checksum.
 * All of it is synchronous.
 */
export class RowReader implements FollowingState {
  readonly isStored = true;
  readonly #table: RowTable;
  readonly #clusterId: string;
  readonly #onDamage: (error: unknown) => void;
  /** Shared rows. The one that was used last is the last one. */
  readonly #parsed = new Map<string, RowValues>();

  /** @param onDamage called with the error of a damaged row, before that is thrown */
  constructor(table: RowTable, clusterId: string, onDamage: (error: unknown) => void) {
    this.#table = table;
    this.#clusterId = clusterId;
    this.#onDamage = onDamage;
  }

  /** @throws {DamagedRow} */
  entry<Name extends Collection>(collection: Name, key: string): EntryOf<Name> | undefined {
    return this.#value(placeOfEntry(collection, key)) as EntryOf<Name> | undefined;
  }

  /** @throws {DamagedRow} */
  packed<Name extends Collection>(collection: Name, key: string): Packed<EntryOf<Name>> | undefined {
    const place = placeOfEntry(collection, key);
    if (isShared(place.row)) return this.entry(collection, key);
    const text = this.#read(place.row);
    // The row is `{"<key>":<entry>}`.
    const start = JSON.stringify(key).length + 2;
    return text !== undefined && text.length - start <= MOST_PACKED_CHARACTERS
      ? text.slice(start, -1)
      : this.entry(collection, key);
  }

  /** @throws {DamagedRow} */
  has(collection: Collection, key: string): boolean {
    const { row, member } = placeOfEntry(collection, key);
    return isShared(row)
      ? ownMember(this.#values(row), member) !== undefined
      : this.#table.has(this.#clusterId, row);
  }

  /** @throws {DamagedRow} */
  *keys(collection: Collection): Generator<string> {
    const [from, before] = rowsOf(collection);
    for (const name of this.#table.names(this.#clusterId, from, before))
      if (from.endsWith("#")) yield* Object.keys(this.#values(name));
      else yield sharedText(name.slice(from.length));
  }

  /** @throws {DamagedRow} */
  single<Name extends Single>(name: Name): ClusterSnapshot[Name] {
    return this.#value(placeOf([name, null])) as ClusterSnapshot[Name];
  }

  *apply(): Generator<void> {}

  /** Forgets what it has read: rows were written. */
  forget(): void {
    this.#parsed.clear();
  }

  #value({ row, member }: RowPlace): unknown {
    return ownMember(this.#values(row), member);
  }

  #values(row: string): RowValues {
    const known = this.#parsed.get(row);
    if (known !== undefined) return known;
    const text = this.#read(row);
    const values: RowValues = text === undefined ? {} : JSON.parse(text);
    if (!isShared(row)) return values;
    this.#parsed.set(row, values);
    for (const oldest of this.#parsed.keys()) {
      if (this.#parsed.size <= MOST_PARSED) break;
      this.#parsed.delete(oldest);
    }
    return values;
  }

  #read(row: string): string | undefined {
    try {
      return this.#table.read(this.#clusterId, row)?.text;
    } catch (error) {
      this.#onDamage(error);
      throw error;
    }
  }
}
