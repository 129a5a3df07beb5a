import { ownMember } from "../../snapshot/json-value.ts";
import type { Single } from "../../snapshot/lines/patch-line.ts";
import type { Collection } from "../../snapshot/parse.ts";
import { placeOf, placeOfEntry, type RowPlace, type RowValues, rowsOf } from "./entry-rows.ts";
import type { RowTable } from "./row-table.ts";

/** Reads a cluster's entries one by one, so that memory need not hold them. All of it is synchronous. */
export class RowReader {
  readonly #table: RowTable;
  readonly #clusterId: string;

  constructor(table: RowTable, clusterId: string) {
    this.#table = table;
    this.#clusterId = clusterId;
  }

  /** An entry, as it was validated when it was pushed; undefined if there is none. @throws {DamagedRow} */
  entry(collection: Collection, key: string): unknown {
    return this.#value(placeOfEntry(collection, key));
  }

  /** A single value; undefined if there is none. @throws {DamagedRow} */
  single(name: Single): unknown {
    return this.#value(placeOf([name, null]));
  }

  /** The keys of a collection's entries. @throws {DamagedRow} */
  *keys(collection: Collection): Generator<string> {
    const [from, before] = rowsOf(collection);
    for (const name of this.#table.names(this.#clusterId, from, before))
      if (from.endsWith("#")) yield* Object.keys(this.#values(name));
      else yield name.slice(from.length);
  }

  #value({ row, member }: RowPlace): unknown {
    return ownMember(this.#values(row), member);
  }

  #values(row: string): RowValues {
    const found = this.#table.read(this.#clusterId, row);
    return found === undefined ? {} : JSON.parse(found.text);
  }
}
