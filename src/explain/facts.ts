import type { ServiceAccount } from "../merge/account.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { Explanation, ServedName, Suggestion } from "./explanation.ts";
import type { KnownNames } from "./near.ts";
import type { AnsweredQuestion, NamedService, Subject } from "./question.ts";

/** What a verdict rests on. */
export interface Facts {
  readonly question: AnsweredQuestion;
  /** Undefined for reverse names. */
  readonly subject: Subject | undefined;
  /** Undefined for names of no service, and on hosts that do not merge. */
  readonly account: ServiceAccount | undefined;
  /** Those of the service. */
  readonly findings: readonly ClusterFinding[];
  readonly known: KnownNames;
  /** Whether the service is too large to be explained. */
  readonly isTooLarge: boolean;
  readonly served: ServedName | "missing" | undefined;
}

/** What an answer is, in a word and a sentence, and what was perhaps meant. */
export type Verdict = Pick<Explanation, "code" | "message" | "suggestions">;

/** A verdict. */
export function verdict(
  code: Verdict["code"],
  message: string,
  suggestions: readonly Suggestion[] = [],
): Verdict {
  return { code, message, suggestions };
}

/** The verdict on a name of a service, where nothing more is known of the service. */
export function notServed({ name, namespace }: NamedService): Verdict {
  return verdict("NO_SUCH_NAME", `No name ${name}.${namespace} is served with these labels before it.`);
}
