import type { KubernetesObject } from "../extract/objects.ts";

/** Where a worker reports its progress; pino's loggers have this shape. */
export interface SyncLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A source cannot read something that it needs. */
export class SourceError extends Error {
  readonly code: string;
  /** Whether it takes a person to mend it, so that trying again soon is of no use. */
  readonly permanent: boolean;

  constructor(code: string, message: string, permanent: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.permanent = permanent;
  }
}

/** What a source tells of. */
export interface SourceListener {
  upsert(object: KubernetesObject): void;
  delete(object: KubernetesObject): void;
  /** Objects were told of, or `complete` is another than before. */
  changed(): void;
  /** Something cannot be read; the source has logged it and goes on trying. */
  failed(error: SourceError): void;
}

/** Where a cluster's objects come from. */
export interface ObjectSource {
  /** Whether what was told so far is a whole state of the cluster: false before everything was listed once, and while something is listed again. */
  readonly complete: boolean;
  /** When the source last knew that what it told is current, by `performance.now()`; undefined before the first time. */
  lastConfirmed(now: number): number | undefined;
  /** Tells of the objects and their changes; resolves when the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}
