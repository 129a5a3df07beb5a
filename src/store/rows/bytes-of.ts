import type { SqlValue } from "./sql-database.ts";

/** The bytes of a value; none of one that is not a BLOB. */
export function bytesOf(value: SqlValue | undefined): Uint8Array<ArrayBuffer> {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(0);
}
