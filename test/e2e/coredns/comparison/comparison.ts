import type { NamePlace, Place } from "../place.ts";
import type { Question } from "../questions.ts";
import { type Observed, sameObserved } from "./observed.ts";

/** One question with both answers, and with what else was asked, as evidence. */
export interface Pair<Where extends NamePlace = Place> {
  question: Question;
  place: Where;
  coredns: Observed;
  ours: Observed;
  all: Evidence<Where>;
}

/** All answers to the questions of one comparison. */
export class Evidence<Where extends NamePlace = Place> {
  readonly #pairs = new Map<string, Pair<Where>>();
  /** The first pair for each name in lower case. */
  readonly #folded = new Map<string, Pair<Where>>();
  readonly #above = new Set<string>();

  /** Pairs up the answers, which are in the order of the questions. */
  constructor(
    questions: readonly Question[],
    coredns: readonly Observed[],
    ours: readonly Observed[],
    placeOf: (name: string) => Where,
  ) {
    for (const [index, question] of questions.entries()) {
      const pair: Pair<Where> = {
        question,
        place: placeOf(question.name),
        coredns: coredns[index]!,
        ours: ours[index]!,
        all: this,
      };
      const key = `${question.name} ${question.type}`;
      if (this.#pairs.has(key)) throw new Error(`asked twice: ${key}`);
      this.#pairs.set(key, pair);
      const folded = `${question.name.toLowerCase()} ${question.type}`;
      if (!this.#folded.has(folded)) this.#folded.set(folded, pair);
      if (question.type === "A" && nameExists(pair.coredns) && nameExists(pair.ours))
        this.#noteAbove(question.name);
    }
  }

  /** All pairs, in the order of the questions. */
  get pairs(): Iterable<Pair<Where>> {
    return this.#pairs.values();
  }

  /** The pair for a question as it was asked. */
  pairFor({ name, type }: Question): Pair<Where> | undefined {
    return this.#pairs.get(`${name} ${type}`);
  }

  /** The first pair for a name in any case, if it was asked. */
  at(name: string, type: string): Pair<Where> | undefined {
    return this.#folded.get(`${name.toLowerCase()} ${type}`);
  }

  /** Whether a name was asked that is below this one and exists by both answers. */
  isAboveSharedName(name: string): boolean {
    return this.#above.has(name.toLowerCase());
  }

  #noteAbove(name: string): void {
    const labels = name.toLowerCase().split(".");
    for (let index = 1; index < labels.length; index++) this.#above.add(labels.slice(index).join("."));
  }
}

/** Whether an answer says that the name exists. */
export function nameExists({ rcode }: Observed): boolean {
  return rcode === "NOERROR";
}

/** Whether the two answers differ. */
export function differ({ coredns, ours }: Pair<NamePlace>): boolean {
  return !sameObserved(coredns, ours);
}
