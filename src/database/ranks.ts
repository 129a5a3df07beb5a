import * as z from "zod";

/** No ServiceExport is older: KEP-1645 is of 2020. */
const FIRST_SERVICE_EXPORT = Date.UTC(2020, 0, 1);
/**
 * How far the clocks of a cluster and of the gateway may differ, and how late a push may be, in milliseconds.
 */
export const CLOCK_TOLERANCE = 300_000;
/** How long the gateway's first day is, on which reported creation times count, in milliseconds. */
export const FOUNDING = 86_400_000;

/**
 * The first day of a gateway, which has no memory before it. `at` is when it began, in Unix milliseconds;
 * undefined before the clock was set. Once it has ended it never comes back, whatever the clock says.
 */
export const FoundingDay = z.strictObject({ at: z.number().optional(), over: z.boolean() });
export type FoundingDay = Readonly<z.infer<typeof FoundingDay>>;

/** How a cluster is seen: what ranks are decided by. Times are Unix milliseconds. */
export interface Sight {
  /** By the wall clock, which may be set to any time. */
  readonly now: number;
  /** Whether the cluster's lease ran until now. */
  readonly live: boolean;
}

/** When and how exports and imports appear that appear now. */
export interface Appearance {
  /**
   * When they are first seen and served: later than all that is remembered, so that no order depends on the
   * clock.
   */
  readonly instant: number;
  /** Before that a reported time does not count: the cluster was not live, or was seen without the export. */
  readonly notBefore: number;
  /** From when on imports count. */
  readonly importsSince: number;
}

/**
 * The instant from which an export counts that appears now: its reported creation time, or when it appeared.
 */
export function judge(reported: number, { instant, notBefore }: Appearance): number {
  const isPlausible = reported >= FIRST_SERVICE_EXPORT && reported <= instant + CLOCK_TOLERANCE;
  // A time that is a little ahead counts as now: otherwise an export that is seen later would come first.
  return isPlausible && reported >= notBefore ? Math.min(reported, instant) : instant;
}

/**
 * Why a reported creation time does not count; undefined where it does, or differs by no more than clocks do.
 * Unix milliseconds.
 */
export function whyAdjusted(
  reported: number,
  counts: number,
): "impossible" | "future" | "unseen" | undefined {
  if (reported < FIRST_SERVICE_EXPORT) return "impossible";
  if (reported > counts + CLOCK_TOLERANCE) return "future";
  return reported < counts - CLOCK_TOLERANCE ? "unseen" : undefined;
}

/**
 * How what appears now counts; undefined while no clock was set.
 * @param latest the latest time that is remembered
 * @param seenAt when the cluster was last seen; undefined if never
 */
export function appearance(
  { now, live }: Sight,
  latest: number,
  founding: FoundingDay,
  seenAt: number | undefined,
): Appearance | undefined {
  const instant = now > latest ? now : latest + 1;
  if (instant < FIRST_SERVICE_EXPORT) return undefined;
  const importsSince = founding.over ? instant : (founding.at ?? instant);
  if (!founding.over) return { instant, notBefore: Number.NEGATIVE_INFINITY, importsSince };
  const notBefore = live && seenAt !== undefined ? Math.max(seenAt, instant - CLOCK_TOLERANCE) : instant;
  return { instant, notBefore, importsSince };
}

/**
 * Of clusters whose ranks were lost: they were there first, with their reported times.
 * @param pushedAt when the lost state came
 */
export function recovery({ instant }: Appearance, pushedAt: number): Appearance {
  return { instant, notBefore: Number.NEGATIVE_INFINITY, importsSince: pushedAt };
}

/**
 * The first day as it is now: it begins with the first plausible time, and ends for ever.
 * @param kept as it was kept; undefined if it was not
 * @param hasMemory whether any cluster is known: then a day that was lost, or that began in the future, has
 * ended
 * @param latest the latest time that is remembered: a clock that goes back does not bring the day back
 */
export function foundingAt(
  kept: FoundingDay | undefined,
  hasMemory: boolean,
  now: number,
  latest: number,
): FoundingDay {
  if (kept?.over || (kept === undefined && hasMemory)) return { at: kept?.at ?? 0, over: true };
  const isVoid = kept?.at !== undefined && now < kept.at - CLOCK_TOLERANCE;
  const at = isVoid && !hasMemory ? undefined : kept?.at;
  if (at === undefined) return now < FIRST_SERVICE_EXPORT ? { over: false } : { at: now, over: false };
  return { at, over: isVoid || Math.max(now, latest) > at + FOUNDING };
}
