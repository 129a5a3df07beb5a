import type { Hono } from "hono";
import type { Written } from "../../explain/schema.ts";
import type { ServingStatus } from "../../gateway/gateway-types.ts";
import type { Objections } from "../../names/services.ts";
import { describeDegraded, describeStale } from "../json.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { jsonResponse } from "../messages/errors.ts";
import type { StatusReport as StatusSchema } from "../openapi/schemas.ts";
import { someOf, wholeSeconds } from "../pages/page.ts";

const HEADERS = { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" };

/**
 * `/status`: clusters, services, conflicts and findings in JSON, as far as they exist for the client.
 * `/healthz`: the process answers. `/readyz`: queries get answers (200), or not (503); clients who see
 * everything also get the number of clusters, or the reason. `/metrics`, for clients who see everything.
 * @param gateway the gateway whose readiness is public
 * @param clock Unix milliseconds
 */
export function mountHealthRoutes(
  app: Hono<AppEnvironment>,
  gateway: { status(): ServingStatus },
  clock: () => number,
): void {
  app.get("/healthz", () => new Response("ok\n", { headers: HEADERS }));
  app.get("/readyz", (c) => {
    const answers = c.env?.answers;
    const detailed = answers?.seesEverything === true ? answers : undefined;
    const status = (detailed?.gateway ?? gateway).status();
    const text = detailed === undefined ? (status.ready ? "ready" : "not ready") : describe(status, clock());
    return new Response(`${text}\n`, { status: status.ready ? 200 : 503, headers: HEADERS });
  });
  app.get("/status", async (c) => {
    const answers = c.env?.answers;
    if (answers === undefined) return c.notFound();
    const listed = answers.listed();
    const objections = await listed?.merged?.survey();
    const status = answers.gateway.status();
    const { services = (await listed?.services?.(ALL))?.total } = status;
    return jsonResponse(200, statusReport({ ...status, services }, objections, clock()));
  });
  app.get("/metrics", async (c) => {
    const metrics = c.env?.answers?.metrics;
    if (metrics === undefined) return c.notFound();
    const text = await metrics.render();
    return new Response(text, { headers: { ...HEADERS, "content-type": metrics.contentType } });
  });
}

function describe(status: ServingStatus, now: number): string {
  const counted = describeClusters(status);
  const { storeTrouble, transferError } = status;
  const trouble = storeTrouble === undefined ? [] : [storeTrouble.reason];
  const behind = transferError === undefined ? [] : [`the last transfer failed: ${transferError}`];
  const said = status.ready
    ? [`ready: ${counted}`, ...describeStale(status, now), ...behind]
    : [`not ready: ${whyNotReady(status, counted)}`];
  return [...said, ...trouble, ...describeNeverSeen(status)].join("; ");
}

function whyNotReady({ clusters, transferError }: ServingStatus, counted: string): string {
  if (transferError !== undefined) return `nothing could be taken over from the primary: ${transferError}`;
  return clusters.length === 0
    ? "no cluster has pushed a snapshot yet"
    : `${counted}: every lease has expired`;
}

/** The number of all services. */
const ALL = { words: [], view: undefined, offset: 0, most: 0 };

/** The most clusters that the line names. */
const MOST_NAMED = 5;

function describeClusters({ clusters, neverSeen = [] }: ServingStatus): string {
  const live = clusters.filter((cluster) => cluster.live).length;
  return `${live} of ${clusters.length + neverSeen.length} clusters live`;
}

/** `cluster-c never seen`; empty where every cluster that may push has pushed. */
function describeNeverSeen({ neverSeen = [] }: ServingStatus): string[] {
  return neverSeen.length === 0 ? [] : [`${someOf(neverSeen, MOST_NAMED)} never seen`];
}

/** The source of the status: a gateway that compiles, or a secondary. */
export interface StatusSource {
  status(): ServingStatus;
  /**
   * Conflicts and findings, as of now; undefined where that takes too long. Absent for a secondary, which
   * does not know them.
   */
  survey?(): Promise<Objections | undefined>;
}

/** The most entries of a list. */
export const MOST_LISTED = 100;

/** A gateway as its clients may see it, in JSON: what `/status` returns. */
export type StatusReport = Written<typeof StatusSchema>;

/**
 * @param objections undefined where they are not known
 * @param now Unix milliseconds by the gateway's clock
 */
function statusReport(status: ServingStatus, objections: Objections | undefined, now: number): StatusReport {
  return {
    ready: status.ready,
    position: status.position,
    stateHash: status.position === undefined ? undefined : status.stateHash,
    stale: describeStale(status, now),
    services: status.services ?? null,
    clusters: status.clusters.map(
      ({ clusterId, live, renewedAt, expiresAt, exports, imports, degraded }) => ({
        clusterId,
        live,
        exports: exports ?? null,
        imports: imports ?? null,
        lastSeenSeconds: wholeSeconds(now - renewedAt),
        expiresInSeconds: live ? wholeSeconds(expiresAt - now) : 0,
        degraded: describeDegraded({ degraded }, now),
      }),
    ),
    neverSeen: status.neverSeen ?? [],
    conflicts: listOf(objections?.conflicts),
    findings: listOf(objections?.findings),
  };
}

function listOf<Entry>(entries: readonly Entry[] | undefined) {
  return entries === undefined ? null : { total: entries.length, entries: entries.slice(0, MOST_LISTED) };
}
