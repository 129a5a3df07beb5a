/** What a path is for. */
type PathKind =
  | "dns"
  | "json"
  | "health"
  | "readiness"
  | "metrics"
  | "description"
  | "push"
  | "transfer"
  | "federations"
  | "page";

/** What holds for the requests of a path before its route sees them. */
interface PathRow {
  readonly kind: PathKind;
  /** The path, without a token in front. */
  readonly pattern: RegExp;
  /** `rule`: an access rule. `route`: the route has credentials of its own. `none`: the answer reveals nothing. */
  readonly admission: "rule" | "route" | "none";
  /** Which requests are answered under overload, too. */
  readonly urgent: "all" | "reads" | "changes" | "none";
  /** Whether a client above its rate is answered as well. */
  readonly isUnlimited?: true;
}

/** The first row that fits counts; every other path is a page. */
const ROWS: readonly PathRow[] = [
  // A rejection of a query costs as much as its answer.
  { kind: "dns", pattern: /^\/(?:clusters\/[^/]+\/)?dns-query$/, admission: "rule", urgent: "all" },
  {
    kind: "json",
    pattern: /^\/(?:clusters\/[^/]+\/)?(?:resolve|explain)$/,
    admission: "rule",
    urgent: "none",
  },
  // Health checks must not be rejected.
  { kind: "health", pattern: /^\/healthz$/, admission: "none", urgent: "all", isUnlimited: true },
  { kind: "readiness", pattern: /^\/readyz$/, admission: "none", urgent: "all", isUnlimited: true },
  { kind: "metrics", pattern: /^\/metrics$/, admission: "rule", urgent: "all" },
  { kind: "description", pattern: /^\/api\/v1\/openapi\.json$/, admission: "none", urgent: "none" },
  // Without pushes names would leave the answers. They have bounds of their own (src/http/push/), and are rejected without a credential before a body is read.
  {
    kind: "push",
    pattern: /^\/api\/v1\/clusters\/(?<cluster>[^/]*)(?<lease>\/lease)?/,
    admission: "route",
    urgent: "changes",
  },
  // Secondaries take changes over by it.
  { kind: "transfer", pattern: /^\/api\/v1\/transfer\//, admission: "route", urgent: "reads" },
  {
    kind: "federations",
    pattern: /^\/federations(?:\/(?<federation>[^/]*)|$)/,
    admission: "route",
    urgent: "none",
  },
  { kind: "page", pattern: /^\/api\//, admission: "route", urgent: "none" },
];
const PAGE: PathRow = { kind: "page", pattern: /^/, admission: "rule", urgent: "none" };

/** The row of a path without a token in front. */
export function rowOf(path: string): PathRow {
  return ROWS.find(({ pattern }) => pattern.test(path)) ?? PAGE;
}

/** Whether a request is answered under overload, too. @param row of its path */
export function isUrgent({ urgent }: PathRow, method: string): boolean {
  if (urgent === "all" || urgent === "none") return urgent === "all";
  return (urgent === "reads") === (method === "GET" || method === "HEAD");
}
