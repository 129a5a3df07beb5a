import { jsonOf } from "./json-text.ts";
import { checkRecordName } from "./text-store.ts";

/** A copy of a record that is missing, or whose checksum or name does not fit. */
export interface RecordDamage {
  /** The record's name. */
  readonly record: string;
  /** Where the copy is: a folder or a table. */
  readonly place: string;
  /** Whether no copy is sound: what the record said is gone. Otherwise the other copy replaced this one. */
  readonly lost: boolean;
  readonly message: string;
}

/** What a store remembers, and what it found damaged. */
export interface LoadedRecords {
  /** JSON values, or what they were packed to, by the name of their record. */
  readonly values: ReadonlyMap<string, unknown>;
  readonly damage: readonly RecordDamage[];
}

/**
 * Keeps what a gateway remembers after leases, departures and restarts, as JSON values by name (`RECORD_NAME`): the kind of the record, `@`, and
 * what it is about, such as `exports@east`. All kinds share one store.
 */
export interface RememberedStore {
  /**
   * Every record that has a sound copy. Damaged copies are replaced by the sound one.
   * @param pack what `values` has in the place of a value: it is called as soon as a record is read, so that memory holds one record as it is stored
   */
  load(pack?: (name: string, value: unknown) => unknown): Promise<LoadedRecords>;
  /**
   * When it resolves, the value survives the death of the process. Calls for one name do not overlap.
   * @param value a JSON value, or a `JsonText`
   * @throws {RangeError} for a name that is not a record's
   */
  keep(name: string, value: unknown): Promise<void>;
}

/** A store that lives as long as the process. */
export function createMemoryRememberedStore(): RememberedStore {
  const texts = new Map<string, string>();
  return {
    load: async (pack = (_, value) => value) => ({
      values: new Map(Array.from(texts, ([name, text]) => [name, pack(name, JSON.parse(text))])),
      damage: [],
    }),
    keep: async (name, value) => {
      checkRecordName(name);
      texts.set(name, jsonOf(value));
    },
  };
}
