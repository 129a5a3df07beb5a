import type { JsonExplanation } from "../../../http/explain.ts";
import type { JsonAnswer } from "../../../http/json.ts";

/** The question in the parameters of the JSON form, and as a DNS message. */
export interface QueryQuestion {
  readonly search: string;
  readonly message: Uint8Array<ArrayBuffer>;
}

/** An answer, where it is from, and why it is what it is. */
export interface QueryResult {
  readonly answer: JsonAnswer;
  /** Without `--explain` undefined. */
  readonly explanation: JsonExplanation | undefined;
  /** `https://doh.example:8443, 12 ms`. */
  readonly source: string;
  /** Problems of the manifests: what they would have is not in the answer. */
  readonly problems?: readonly string[];
}
