import * as z from "zod";

/** The most degradations of a report. A worker has one for each reason. */
export const MOST_DEGRADATIONS = 12;
const MOST_SUBJECT = 100;
const MOST_COUNT = 1_000_000;
/** Ten years. */
const MOST_SECONDS = 315_360_000;

/** What keeps a worker from reading all of its cluster, as it reports it with each push and renewal. */
export const Degradation = z.strictObject({
  /** The code of the worker's log, such as `API_UNREACHABLE`. */
  reason: z.string().regex(/^[A-Z][A-Z0-9_]{0,47}$/),
  /** For how long it has lasted. */
  seconds: z.int().min(0).max(MOST_SECONDS),
  /** What it concerns: a resource of the Kubernetes API, or a manifest file. */
  subject: z
    .string()
    .regex(/^[A-Za-z0-9 ._/:-]{1,100}$/)
    .optional(),
  /** How many it concerns, with the subject; 1 if absent. */
  count: z.int().min(1).max(MOST_COUNT).optional(),
});
export type Degradation = Readonly<z.infer<typeof Degradation>>;

/**
 * What a worker reports of itself with each push and renewal: members of the first line of a push, and of the
 * body of a renewal. Everything on the way hands it on as it is.
 */
export const Report = z.strictObject({
  /** All that is wrong at the worker. Absent or empty: it reads all of its cluster. */
  degraded: z.array(Degradation).max(MOST_DEGRADATIONS).optional(),
});
export type Report = Readonly<z.infer<typeof Report>>;

/**
 * A degradation with its begin, in milliseconds of the clock of the process that holds it, instead of its
 * length.
 */
const DegradedSince = Degradation.omit({ seconds: true }).extend({ since: z.number() });
type DegradedSince = Readonly<z.infer<typeof DegradedSince>>;

/** A report as a gateway holds it: with times of its clock instead of lengths. */
export const HeldReport = z.object({ degraded: z.array(DegradedSince).optional() });
export interface HeldReport {
  /** Undefined where nothing is wrong. */
  readonly degraded?: readonly DegradedSince[] | undefined;
}

/** @param now by the gateway's clock. @returns all members, so that no older one stays beside them */
export function holdReport({ degraded = [] }: Report, now: number): HeldReport {
  if (degraded.length === 0) return { degraded: undefined };
  return { degraded: degraded.map(({ seconds, ...rest }) => ({ ...rest, since: now - seconds * 1000 })) };
}

/** A held report in times of a clock that is ahead by so many milliseconds. */
export function reportAhead({ degraded }: HeldReport, ahead: number): HeldReport {
  return { degraded: degraded?.map((one) => ({ ...one, since: one.since + ahead })) };
}

/** What is the same as long as nothing begins or ends, for comparisons of two reports. */
export function reportKey({ degraded = [] }: Report | HeldReport): string {
  return JSON.stringify(degraded.map(({ reason, subject, count = 1 }) => [reason, subject, count]).sort());
}

/** The gateway's own reason: it rejects another worker that pushes with the cluster's id. */
export const OTHER_INSTANCE = "OTHER_INSTANCE";

/**
 * Every reason that workers of this version report, and that of the gateway, in words
 * (docs/how-to/troubleshoot.md has the fix of each).
 */
export const DEGRADATION_REASONS: ReadonlyMap<string, string> = new Map([
  ["API_UNREACHABLE", "API server unreachable"],
  ["API_UNAUTHENTICATED", "API server rejects the worker's credentials"],
  ["KUBECONFIG_INVALID", "a file of the kubeconfig cannot be read"],
  ["RBAC_FORBIDDEN", "a right is missing"],
  ["RESOURCE_NOT_SERVED", "API server no longer serves a resource"],
  ["MANIFESTS_UNREADABLE", "manifest folder unreadable"],
  ["MANIFEST_BROKEN", "manifest broken"],
  ["CLUSTER_ID_UNKNOWN", "the cluster has no id"],
  [OTHER_INSTANCE, "another worker pushes with this cluster id, and is rejected"],
  ["CLUSTER_ID_INVALID", "the cluster's id is malformed"],
]);

/** A reason as the label of a metric: a cluster may report any code, and only known ones make series. */
export function reasonLabel(reason: string): string {
  return DEGRADATION_REASONS.has(reason) ? reason : "other";
}

/**
 * A degradation in words: `a right is missing (services and 2 more)`. Another version's reason is its code.
 */
export function describeDegradation({ reason, subject, count = 1 }: Omit<Degradation, "seconds">): string {
  const words = DEGRADATION_REASONS.get(reason) ?? reason;
  if (subject === undefined) return words;
  return `${words} (${subject}${count > 1 ? ` and ${count - 1} more` : ""})`;
}

/** A subject as a report may have it: other characters become `_`, and a long one loses its beginning. */
export function toSubject(text: string): string | undefined {
  const subject = text.replaceAll(/[^A-Za-z0-9 ._/:-]/g, "_").slice(-MOST_SUBJECT);
  return subject === "" ? undefined : subject;
}
