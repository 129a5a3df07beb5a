import type { Answer } from "../resolve/answer.ts";

/** Where an answer came from. */
export interface AnswerOrigin {
  /** The upstream's name; undefined where nobody answered. */
  readonly upstream: string | undefined;
  /** How long it has been in the cache, in whole seconds. */
  readonly ageSeconds: number;
  readonly isStale: boolean;
}

/** The answer to a query for a name outside our zones. */
export interface OutsideAnswer {
  readonly answer: Answer;
  /** Undefined where it was not an upstream's to answer. */
  readonly origin?: AnswerOrigin;
  /** Whether it begins with an alias of ours, and `origin` is about what that leads to. */
  readonly isContinued?: boolean;
  /** After how many seconds a client may come again that has asked too much; `answer` says REFUSED then. */
  readonly retryAfter?: number;
}
