/** What a store refuses to do. */
export type StoreErrorCode =
  | "STATE_DIRECTORY_IN_USE"
  | "STATE_DIRECTORY_LOST"
  | "NO_SNAPSHOT"
  | "STORE_FULL"
  | "STORE_FAILED"
  | "STORE_CLOSED";

/** A store that cannot do a request; failures of the disk come as the system's own errors. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** What a lease or a delta of a cluster gets of which nothing is kept. */
  static noSnapshot(clusterId: string): StoreError {
    return new StoreError(
      "NO_SNAPSHOT",
      `no snapshot of cluster "${clusterId}" is kept: a lease and a delta need one`,
    );
  }
}

/** What systems call a medium without room: of files (errno(3)), of a Durable Object's SQLite. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "SQLITE_FULL"]);

/**
 * What a client gets if a medium failed: STORE_FULL, or STORE_FAILED with the system's code; what a store says itself stays as it is. Undefined where
 * something else is the matter.
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
export function isDiskFailure(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code === "STORE_FULL" || error.code === "STORE_FAILED");
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof StoreError) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string" && /^E[A-Z0-9]+$/.test(code)) return code;
  return /\bSQLITE_[A-Z]+/.exec(error.message)?.[0];
}

/** Something that a store found damaged and went on without. */
export interface StoreWarning {
  readonly code: "CORRUPT_SNAPSHOT" | "CORRUPT_JOURNAL" | "UNREADABLE_CLUSTER" | "LEFTOVER" | "NOT_COMPACTED";
  readonly clusterId: string;
  readonly path: string;
  readonly message: string;
}

/** Takes the warnings of a store. */
export type OnStoreWarning = (warning: StoreWarning) => void;

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
