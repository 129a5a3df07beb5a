import type { Degradation, DegradedSince } from "../../snapshot/report/degradation.ts";

/** A worker's report as it is held: with the times when things began, by the clock that shows `now`. Absent if nothing is wrong. */
export function degradedSince(
  report: readonly Degradation[],
  now: number,
): { readonly degraded?: DegradedSince[] } {
  if (report.length === 0) return {};
  return { degraded: report.map(({ seconds, ...rest }) => ({ ...rest, since: now - seconds * 1000 })) };
}

/** The same with times of a clock that is ahead by so many milliseconds. */
export function withTimesAhead<Held extends { readonly degraded?: readonly DegradedSince[] | undefined }>(
  { degraded }: Held,
  ahead: number,
): { readonly degraded?: DegradedSince[] } {
  return degraded === undefined
    ? {}
    : { degraded: degraded.map((one) => ({ ...one, since: one.since + ahead })) };
}
