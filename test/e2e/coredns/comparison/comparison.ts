import type { Place } from "../place.ts";
import type { Question } from "../questions.ts";
import { type Observed, sameObserved } from "./observed.ts";

/** One question with both answers, and with what else was asked, as evidence. */
export interface Pair {
  question: Question;
  place: Place;
  coredns: Observed;
  ours: Observed;
  all: Evidence;
}

export class Evidence {
  readonly #pairs = new Map<string, Pair>();
  /** The first pair for each name in lower case. */
  readonly #folded = new Map<string, Pair>();
  readonly #above = new Set<string>();

  /** Pairs up the answers, which are in the order of the questions. */
  constructor(
    questions: readonly Question[],
    coredns: readonly Observed[],
    ours: readonly Observed[],
    placeOf: (name: string) => Place,
  ) {
    for (const [index, question] of questions.entries()) {
      const place = placeOf(question.name);
      const pair: Pair = { question, place, coredns: coredns[index]!, ours: ours[index]!, all: this };
      const key = `${question.name} ${question.type}`;
      if (this.#pairs.has(key)) throw new Error(`asked twice: ${key}`);
      this.#pairs.set(key, pair);
      const folded = `${question.name.toLowerCase()} ${question.type}`;
      if (!this.#folded.has(folded)) this.#folded.set(folded, pair);
      if (question.type !== "A" || !nameExists(pair.coredns) || !nameExists(pair.ours)) continue;
      const labels = question.name.toLowerCase().split(".");
      for (let left = 1; left < labels.length; left++) this.#above.add(labels.slice(left).join("."));
    }
  }

  get pairs(): Iterable<Pair> {
    return this.#pairs.values();
  }

  /** The pair for a question as it was asked. */
  pairFor({ name, type }: Question): Pair | undefined {
    return this.#pairs.get(`${name} ${type}`);
  }

  /** The first pair for a name in any case, if it was asked. */
  at(name: string, type: string): Pair | undefined {
    return this.#folded.get(`${name.toLowerCase()} ${type}`);
  }

  /** Whether a name was asked that is below this one and exists by both answers. */
  isAboveSharedName(name: string): boolean {
    return this.#above.has(name.toLowerCase());
  }
}

export function nameExists({ rcode }: Observed): boolean {
  return rcode === "NOERROR";
}

export function differ({ coredns, ours }: Pair): boolean {
  return !sameObserved(coredns, ours);
}
