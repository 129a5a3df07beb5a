import * as z from "zod";
import { readPathToken } from "../access/url-tokens.ts";
import type { Endpoint } from "../answer/answer-query.ts";
import type { OutsidePolicy } from "../forward/outside.ts";
import { HTTPS } from "../resolve/message-writer.ts";
import type { PartKind } from "../transfer/part-forms.ts";

/** What was attempted, by the audit log. */
export type AuditAction =
  | "push"
  | "patch"
  | "renew"
  | "leave"
  | "read"
  | "register"
  | "unregister"
  | "transfer"
  /** Sent to the primary, which has a line of its own. */
  | "forward";

/** An API with credentials of its own, which its routes check. */
export interface ApiTable {
  /** In messages. */
  readonly name: string;
  /** Where its routes are. */
  readonly mount: string;
  /** Which requests are answered under overload, too. */
  readonly urgent: PathRow["urgent"];
  /** By `<method> <path>`, with a path below the mount in Hono's syntax: what the audit log calls it. */
  readonly routes: Readonly<Record<string, AuditAction>>;
}

/** The routes of an API. */
export type RouteOf<Api extends ApiTable> = Extract<keyof Api["routes"], string>;

export const PUSH = {
  name: "push",
  mount: "/api/v1/clusters",
  // Without pushes names would leave the answers. They have bounds of their own (src/http/push/), and are
  // rejected without a credential before a body is read.
  urgent: "changes",
  routes: {
    "PUT /:clusterId/snapshot": "push",
    "PATCH /:clusterId/snapshot": "patch",
    "POST /:clusterId/lease": "renew",
    "GET /:clusterId": "read",
    "GET /:clusterId/desired": "read",
    "DELETE /:clusterId": "leave",
  },
} as const satisfies ApiTable;

export const TRANSFER = {
  name: "transfer",
  mount: "/api/v1/transfer",
  // Secondaries take changes over by it.
  urgent: "reads",
  routes: {
    "GET /state": "read",
    // One line in the audit log for each change of clusters is enough.
    "GET /world": "transfer",
    "GET /changes": "read",
    "GET /key": "read",
    "GET /reverse": "read",
    "GET /names": "read",
    "GET /below": "read",
    "GET /claims": "read",
    "GET /services": "read",
  } satisfies Readonly<Record<`GET /${PartKind | "state"}`, AuditAction>>,
} as const satisfies ApiTable;

export const FEDERATIONS = {
  name: "federation",
  mount: "/federations",
  urgent: "none",
  routes: {
    "GET /": "read",
    "POST /:name": "register",
    "GET /:name": "read",
    "DELETE /:name": "unregister",
  },
} as const satisfies ApiTable;

/** The description of all APIs. */
export const DESCRIPTION = "/api/v1/openapi.json";

/**
 * The forms of an answer: each has a path of its name, and one below `/clusters/<id>` for the view of that
 * cluster.
 */
const FORMS = ["dns-query", "resolve", "explain"] as const;
type Form = (typeof FORMS)[number];
const FORM = new RegExp(`^/(?:clusters/(?<cluster>[^/]+)/)?(?<form>${FORMS.join("|")})$`);

/** The path patterns of clusters, in Hono's syntax. */
export const CLUSTER_PATHS = FORMS.map((form) => `/clusters/:clusterId/${form}`);

/** Which form a path is of, and in the view of which cluster; undefined for other paths. */
export function formOf(path: string): { readonly form: Form; readonly cluster?: string } | undefined {
  return FORM.exec(path)?.groups as { form: Form; cluster?: string } | undefined;
}

/** What holds for the requests of a path before its route sees them. */
interface PathRow {
  /** The path, without a token in front. */
  readonly pattern: RegExp;
  /**
   * `rule`: an access rule. `route`: the route has credentials of its own. `none`: the answer reveals
   * nothing.
   */
  readonly admission: "rule" | "route" | "none";
  /** Which requests are answered under overload, too. */
  readonly urgent: "all" | "reads" | "changes" | "none";
  /** Whether a client above its rate is answered as well. */
  readonly isUnlimited?: true;
}

/** The first row that fits counts. */
const ROWS: readonly PathRow[] = [
  // A rejection of a query costs as much as its answer.
  { pattern: /^\/(?:clusters\/[^/]+\/)?dns-query$/, admission: "rule", urgent: "all" },
  // Health checks must not be rejected; of a client above its rate `/readyz` reads no credential.
  { pattern: /^\/healthz$/, admission: "none", urgent: "all", isUnlimited: true },
  { pattern: /^\/readyz$/, admission: "none", urgent: "all" },
  { pattern: /^\/metrics$/, admission: "rule", urgent: "all" },
  {
    pattern: new RegExp(`^(?:${DESCRIPTION.replace(".", "\\.")}|/log(?:in|out))$`),
    admission: "none",
    urgent: "none",
  },
  ...[PUSH, TRANSFER, FEDERATIONS].map(
    ({ mount, urgent }): PathRow => ({ pattern: new RegExp(`^${mount}(?:/|$)`), admission: "route", urgent }),
  ),
  { pattern: /^\/api\//, admission: "route", urgent: "none" },
];
const PAGE: PathRow = { pattern: /^/, admission: "rule", urgent: "none" };

/** The row of a path without a token in front; pages and JSON have no row of their own. */
export function rowOf(path: string): PathRow {
  return ROWS.find(({ pattern }) => pattern.test(path)) ?? PAGE;
}

/**
 * Whether a request is answered under overload, too, and before others that wait.
 * @param path with or without a token in front
 */
export function isUrgent(method: string, path: string): boolean {
  const { urgent } = rowOf(readPathToken(path)?.url ?? path);
  if (urgent === "all" || urgent === "none") return urgent === "all";
  return (urgent === "reads") === (method === "GET" || method === "HEAD");
}

/** The policy for names out of zone. */
export interface PathPolicies {
  readonly default: OutsidePolicy;
  /**
   * By path: `/dns-query`, `/resolve`, `/clusters` for the paths of all clusters; every other path is another
   * DNS resource that answers like `/dns-query`.
   */
  readonly byPath: ReadonlyMap<string, OutsidePolicy>;
}

/** The endpoint of a path; those of clusters are at `/clusters`. */
export type EndpointAt = (path: string, cluster?: string) => Endpoint;

const BUILT_IN = new Set(["/dns-query", "/resolve", "/clusters"]);

/** The paths of the DNS resources: `/dns-query`, and the other paths in the policies. */
export function dnsPaths(policies: PathPolicies): readonly string[] {
  return ["/dns-query", ...[...policies.byPath.keys()].filter((path) => !BUILT_IN.has(path))];
}

export function createEndpointAt(policies: PathPolicies): EndpointAt {
  return (path, cluster) => ({
    transport: HTTPS,
    cluster,
    outsideZones: policies.byPath.get(path) ?? policies.default,
  });
}

/** A federation's name: one label of a DNS name, in lower case (RFC 1123). */
export const FEDERATION_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
export const FederationName = z
  .string()
  .regex(FEDERATION_NAME, "must be one label of a DNS name: a-z, 0-9 and -, at most 63 characters");
