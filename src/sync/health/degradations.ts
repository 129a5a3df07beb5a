import { type Degradation, MOST_DEGRADATIONS, toSubject } from "../../snapshot/report/degradation.ts";

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
  const byCode = new Map<string, SourceProblem[]>();
  for (const problem of problems) byCode.set(problem.code, [...(byCode.get(problem.code) ?? []), problem]);
  return Array.from(byCode, ([reason, all]) => {
    const since = Math.min(...all.map((problem) => problem.since));
    const subjects = all.flatMap(({ subject }) => (subject === undefined ? [] : (toSubject(subject) ?? [])));
    return {
      reason,
      seconds: Math.max(0, Math.round((now - since) / 1000)),
      ...(subjects.length > 0 && { subject: subjects.sort()[0]! }),
      ...(subjects.length > 1 && { count: subjects.length }),
    };
  }).slice(0, MOST_DEGRADATIONS);
}
