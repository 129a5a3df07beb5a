/** Keeps texts by name: one of the two copies of a `RememberedStore`. */
export interface TextStore {
  /** Where it is, for logs. */
  readonly place: string;
  /** The name of each text. */
  names(): Promise<readonly string[]>;
  /** A text; undefined for none. One that cannot be read is empty. */
  read(name: string): Promise<string | undefined>;
  /** When it resolves, the text survives the death of the process. @throws {RangeError} for a name that is not a record's */
  keep(name: string, text: string): Promise<void>;
}

/** A record's name: its kind, `@`, and what it is about. It never leads out of a folder. */
export const RECORD_NAME = /^[a-z]{0,32}@[a-z0-9][-.a-z0-9]{0,126}$/;

/** @throws {RangeError} for a name that is not a record's */
export function checkRecordName(name: string): void {
  if (!RECORD_NAME.test(name)) throw new RangeError(`${JSON.stringify(name)} is not the name of a record`);
}
