import type { Answer } from "../resolve/answer.ts";

/** The origin of an answer. */
export interface AnswerOrigin {
  /** The upstream's name; undefined if none answered. */
  readonly upstream: string | undefined;
  /** Its age in the cache in whole seconds. */
  readonly ageSeconds: number;
  readonly isStale: boolean;
}

/** The answer to a query for a name out of zone. */
export interface OutsideAnswer {
  readonly answer: Answer;
  /** Undefined if no upstream was needed. */
  readonly origin?: AnswerOrigin;
  /** Whether it starts with one of the gateway's CNAME records; then `origin` is that of the target. */
  readonly isContinued?: boolean;
  /** Set if the client exceeded its limit: seconds until it may retry; `answer` is REFUSED. */
  readonly retryAfter?: number;
}
