import { createHash } from "node:crypto";
import type { KubernetesObject } from "../extract/objects.ts";
import { type Degradation, MOST_DEGRADATIONS, toSubject } from "../snapshot/report.ts";

/** The worker's logger; pino's loggers implement it. */
export interface SyncLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A source cannot read data that it needs. */
export class SourceError extends Error {
  readonly code: string;
  /** Whether an operator must fix it, so that an early retry is useless. */
  readonly permanent: boolean;

  constructor(code: string, message: string, permanent: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.permanent = permanent;
  }
}

/** The message of an error with those of its causes: undici hides the reason behind "fetch failed". */
export function describeCauses(cause: unknown): string {
  const messages: string[] = [];
  for (let error = cause; error instanceof Error && messages.length < 4; error = error.cause) {
    const { code } = error as NodeJS.ErrnoException;
    const message = error.message || error.name;
    messages.push(typeof code === "string" && !message.includes(code) ? `${message} (${code})` : message);
  }
  return messages.length === 0 ? String(cause) : messages.join(": ");
}

/** The callbacks of a source. */
export interface SourceListener {
  upsert(object: KubernetesObject): void;
  delete(object: KubernetesObject): void;
  /** Objects were reported, or `complete` changed. */
  changed(): void;
  /** A read failed; the source has logged it and retries. */
  failed(error: SourceError): void;
}

/** A source of a cluster's objects. */
export interface ObjectSource {
  /**
   * Whether the reported objects are a whole state of the cluster: false until all resources were listed
   * once.
   */
  readonly complete: boolean;
  /**
   * When the source last confirmed that the reported objects are current, by `performance.now()`; undefined
   * before the first time.
   */
  lastConfirmed(now: number): number | undefined;
  /**
   * What keeps the source from reading all of its objects at `now` (`performance.now()`); empty if nothing
   * does.
   */
  problems(now: number): readonly SourceProblem[];
  /**
   * The name of what is read, the same for each worker that reads it; undefined if it has none, or none yet.
   */
  readonly instance: string | undefined;
  /** Reports the objects and their changes; resolves when the signal aborts. */
  run(listener: SourceListener, signal: AbortSignal): Promise<void>;
}

/** A name of what a source reads. Hashed, since a gateway need not know what it is. */
export function instanceName(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

/** Something that keeps a worker from reading a part of its cluster. */
export interface SourceProblem {
  /** The code of the log. */
  readonly code: string;
  /** When it began, by `performance.now()`. */
  readonly since: number;
  /** The resource or the file that it concerns. */
  readonly subject?: string | undefined;
}

/**
 * Problems as a worker reports them: one for each code, with the earliest begin and the first subject.
 * @param now by `performance.now()`
 */
export function toDegradations(problems: readonly SourceProblem[], now: number): Degradation[] {
  return Array.from(
    Map.groupBy(problems, ({ code }) => code),
    ([reason, all]) => {
      const since = Math.min(...all.map((problem) => problem.since));
      const subjects = all.flatMap(({ subject }) =>
        subject === undefined ? [] : (toSubject(subject) ?? []),
      );
      return {
        reason,
        seconds: Math.max(0, Math.round((now - since) / 1000)),
        ...(subjects.length > 0 && { subject: subjects.sort()[0]! }),
        ...(subjects.length > 1 && { count: subjects.length }),
      };
    },
  ).slice(0, MOST_DEGRADATIONS);
}
