/** No ServiceExport is older: KEP-1645 is of 2020. */
export const FIRST_SERVICE_EXPORT = Date.UTC(2020, 0, 1);
/** How far the clocks of a cluster and of the gateway may differ, and how late a push may be, in milliseconds. */
export const CLOCK_TOLERANCE = 300_000;

/** When and how an export appeared. Times are Unix milliseconds. */
export interface Sighting {
  /** When it was first seen and served. */
  readonly instant: number;
  /** Before that the reported time does not count: the cluster was not live, or was seen without the export. */
  readonly notBefore: number;
}

/** The instant from which an export counts that appears now, in Unix milliseconds: its reported creation time, or when it appeared. */
export function judge(reported: string, { instant, notBefore }: Sighting): number {
  const at = Date.parse(reported);
  const isPlausible = at >= FIRST_SERVICE_EXPORT && at <= instant + CLOCK_TOLERANCE;
  // A time that is a little ahead counts as now: otherwise an export that is seen later would come first.
  return isPlausible && at >= notBefore ? Math.min(at, instant) : instant;
}

/** Why a reported creation time does not count; undefined where it does, or differs by no more than clocks do. */
export function whyAdjusted(
  reported: string,
  counts: number,
): "impossible" | "future" | "unseen" | undefined {
  const at = Date.parse(reported);
  if (at < FIRST_SERVICE_EXPORT) return "impossible";
  if (at > counts + CLOCK_TOLERANCE) return "future";
  return at < counts - CLOCK_TOLERANCE ? "unseen" : undefined;
}
