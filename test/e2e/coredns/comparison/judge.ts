import { expect } from "vitest";
import { type Difference, summarize } from "../differences/difference.ts";
import type { NamePlace, Place } from "../place.ts";
import type { Question } from "../questions.ts";
import { differ, Evidence, type Pair } from "./comparison.ts";
import { describe } from "./observed.ts";

/** What came out of a comparison. */
export interface Verdict {
  compared: number;
  /** How many pairs are the same. */
  same: number;
  /** How many pairs each difference explains, by its id. */
  explained: ReadonlyMap<string, number>;
  /** Each pair that the table of differences does not explain, or explains wrongly. */
  problems: readonly { question: Question; text: string }[];
}

/**
 * Holds every pair against the table: the answers are the same and no difference applies, or exactly one
 * applies and both sides answer as it expects.
 */
export function judge<Where extends NamePlace = Place>(
  evidence: Evidence<Where>,
  differences: readonly Difference<Where>[],
): Verdict {
  const explained = new Map<string, number>();
  const problems: { question: Question; text: string }[] = [];
  let compared = 0;
  let same = 0;
  for (const pair of evidence.pairs) {
    compared++;
    const applying = differences.filter(({ applies }) => applies(pair));
    const problem = findProblem(pair, applying);
    if (problem !== undefined) {
      problems.push({ question: pair.question, text: `${problem}\n${describePair(pair)}` });
    } else if (applying[0] === undefined) same++;
    else explained.set(applying[0].id, (explained.get(applying[0].id) ?? 0) + 1);
  }
  return { compared, same, explained, problems };
}

function findProblem<Where extends NamePlace>(
  pair: Pair<Where>,
  applying: readonly Difference<Where>[],
): string | undefined {
  const ids = applying.map(({ id }) => id).join(", ");
  const [difference] = applying;
  if (!differ(pair)) return difference && `The same, although the table says that they differ: ${ids}`;
  if (difference === undefined) return "A difference that is not in the table";
  if (applying.length > 1) return `Several differences of the table apply: ${ids}`;
  if (!difference.coredns(pair)) return `CoreDNS answers otherwise than "${difference.id}" says`;
  if (!difference.ours(pair)) return `The gateway answers otherwise than "${difference.id}" says`;
  return undefined;
}

function describePair({ question, coredns, ours }: Pair<NamePlace>): string {
  const indent = (text: string) => text.replaceAll("\n", "\n    ");
  return [
    `  ${question.name} ${question.type}`,
    `  CoreDNS: ${indent(describe(coredns))}`,
    `  gateway: ${indent(describe(ours))}`,
  ].join("\n");
}

/** The first problems of a verdict in text; undefined where there is none. */
export function problemsOf({ compared, problems }: Verdict): string | undefined {
  const shown = problems.slice(0, 20).map(({ text }) => text);
  return shown.length === 0 ? undefined : `${problems.length} of ${compared} pairs:\n\n${shown.join("\n\n")}`;
}

/** Changes one answer in a hundred. @returns the questions whose changed answers were no problem */
export function unnoticedChanges<Where extends NamePlace>(
  evidence: Evidence<Where>,
  differences: readonly Difference<Where>[],
): Question[] {
  const pairs = [...evidence.pairs];
  const places = new Map(pairs.map(({ question, place }) => [question.name, place]));
  const isChanged = (_: unknown, index: number) => index % 97 === 13;
  const broken = new Evidence(
    pairs.map(({ question }) => question),
    pairs.map(({ coredns }) => coredns),
    pairs.map(({ ours }, index) => {
      const rcode = ours.rcode === "NXDOMAIN" ? "NOERROR" : "NXDOMAIN";
      return isChanged(ours, index) ? { ...ours, rcode } : ours;
    }),
    (name) => places.get(name)!,
  );
  const noticed = new Set(judge(broken, differences).problems.map(({ question }) => question));
  return pairs.filter(isChanged).flatMap(({ question }) => (noticed.has(question) ? [] : question));
}

/** Expects that the examples of the differences got the answers that they have. */
export function expectExamples<Listed extends Pick<Difference, "id" | "example">>(
  differences: readonly Listed[],
  evidenceFor: (difference: Listed) => Evidence<NamePlace>,
): void {
  const found = differences.map((one) => {
    const { coredns, ours } = evidenceFor(one).pairFor(one.example.question) ?? {};
    return { id: one.id, coredns: coredns && summarize(coredns), ours: ours && summarize(ours) };
  });
  expect(found).toEqual(differences.map(({ id, example: { coredns, ours } }) => ({ id, coredns, ours })));
}
