import { expect } from "vitest";
import { type Difference, summarize } from "../differences/difference.ts";
import type { Question } from "../questions.ts";
import { differ, Evidence, type Pair } from "./comparison.ts";
import { describe } from "./observed.ts";

export interface Verdict {
  compared: number;
  /** How many pairs are the same. */
  same: number;
  /** The titles of the differences that explain pairs. */
  explained: ReadonlySet<string>;
  /** Each pair that differs and that not exactly one difference of the table explains. */
  problems: readonly { question: Question; text: string }[];
}

/** Holds every pair against the table: the answers are the same, or exactly one difference explains them. */
export function judge(evidence: Evidence, differences: readonly Difference[]): Verdict {
  const pairs = [...evidence.pairs];
  const differing = pairs.filter(differ);
  const explained = new Set<string>();
  const problems: { question: Question; text: string }[] = [];
  for (const pair of differing) {
    const titles = differences.filter((one) => explains(one, pair)).map(({ title }) => title);
    if (titles.length === 1) explained.add(titles[0]!);
    else problems.push({ question: pair.question, text: describePair(pair, titles) });
  }
  return { compared: pairs.length, same: pairs.length - differing.length, explained, problems };
}

function explains({ where, coredns, ours }: Difference, pair: Pair): boolean {
  return where(pair) && coredns(pair, "coredns") && ours(pair, "ours");
}

function describePair({ question, coredns, ours }: Pair, titles: readonly string[]): string {
  const indent = (text: string) => text.replaceAll("\n", "\n    ");
  return [
    titles.length === 0 ? "A difference that is not in the table" : `Several: ${titles.join("; ")}`,
    `  ${question.name} ${question.type}`,
    `  CoreDNS: ${indent(describe(coredns))}`,
    `  gateway: ${indent(describe(ours))}`,
  ].join("\n");
}

/** Expects that the table explains everything, and that a share of the answers are the same. */
export function expectExplained({ compared, same, problems }: Verdict, share: number): void {
  expect(problems.slice(0, 20).map(({ text }) => text)).toEqual([]);
  expect(same).toBeGreaterThan(compared * share);
}

/** Changes one answer in a hundred. @returns the questions whose changed answers were no problem */
export function unnoticedChanges(evidence: Evidence, differences: readonly Difference[]): Question[] {
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
  return [...broken.pairs]
    .filter((pair, index) => isChanged(pair, index) && differ(pair) && !noticed.has(pair.question))
    .map(({ question }) => question);
}

/** Expects that the examples of the differences got the answers that they have. */
export function expectExamples(
  differences: readonly Difference[],
  evidenceFor: (difference: Difference) => Evidence,
): void {
  for (const difference of differences) {
    const { question, coredns, ours } = difference.example;
    const pair = evidenceFor(difference).pairFor(question)!;
    const found = [summarize(pair.coredns, question), summarize(pair.ours, question)];
    expect([difference.title, ...found]).toEqual([difference.title, coredns, ours]);
  }
}
