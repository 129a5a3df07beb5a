/** What a store refuses to do. */
type StoreErrorCode = "STATE_DIRECTORY_IN_USE" | "STORE_FULL" | "STORE_FAILED" | "STORE_CLOSED";

/** A store that cannot do a request; failures of the disk come as the system's own errors. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * What systems call a medium without room: of files (errno(3)), of a Durable Object's SQLite; and a day's
 * allowance of Cloudflare's free plan that is used up.
 */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL", "DAILY_LIMIT"]);

/**
 * What a client gets if a medium failed: STORE_FULL, or STORE_FAILED with the system's code; what a store
 * says itself stays as it is. Undefined where something else is the matter.
 */
export function storeFailure(error: unknown): StoreError | undefined {
  if (isDiskFailure(error)) return error;
  const code = systemCode(error);
  if (code === undefined) return undefined;
  return FULL.has(code)
    ? new StoreError(
        "STORE_FULL",
        `the gateway's disk is full (${code}): nothing can be stored until there is room`,
      )
    : new StoreError(
        "STORE_FAILED",
        `the gateway's disk cannot be written (${code}): nothing can be stored until it works`,
      );
}

/** Whether a store could not be written, for want of room or otherwise. */
export function isDiskFailure(
  error: unknown,
): error is StoreError & { readonly code: "STORE_FULL" | "STORE_FAILED" } {
  return error instanceof StoreError && (error.code === "STORE_FULL" || error.code === "STORE_FAILED");
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof StoreError) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : sqliteCode(error);
}

/**
 * What SQLite says of its codes (sqlite3.c, `sqlite3ErrStr`): Deno has no number for most of them. The last
 * one is of Durable Objects.
 */
const SQLITE_CODES: readonly (readonly [text: string, code: string])[] = [
  ["database is locked", "SQLITE_BUSY"],
  ["attempt to write a readonly database", "SQLITE_READONLY"],
  ["disk I/O error", "SQLITE_IOERR"],
  ["database disk image is malformed", "SQLITE_CORRUPT"],
  ["database or disk is full", "SQLITE_FULL"],
  ["unable to open database file", "SQLITE_CANTOPEN"],
  ["file is not a database", "SQLITE_NOTADB"],
  ["Exceeded allowed rows", "DAILY_LIMIT"],
];

/** The code of an error of SQLite, on whatever host; undefined for other errors, and those of a statement. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  return /\bSQLITE_[A-Z]+/.exec(message)?.[0] ?? SQLITE_CODES.find(([text]) => message.startsWith(text))?.[1];
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
