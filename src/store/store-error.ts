/** What a store refuses to do. */
export type StoreErrorCode =
  | "STATE_DIRECTORY_IN_USE"
  | "STATE_DIRECTORY_LOST"
  | "NO_SNAPSHOT"
  | "STORE_FULL"
  | "STORE_CLOSED";

/** A store that cannot do what it was asked to; failures of the disk come as the system's own errors. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  static noSnapshot(clusterId: string): StoreError {
    return new StoreError("NO_SNAPSHOT", `no snapshot of cluster "${clusterId}" is kept: a lease needs one`);
  }
}

/** Something that a store found damaged and went on without. */
export interface StoreWarning {
  readonly code: "CORRUPT_SNAPSHOT" | "CORRUPT_JOURNAL" | "UNREADABLE_CLUSTER" | "LEFTOVER";
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
