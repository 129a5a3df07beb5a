import type { Hono } from "hono/tiny";
import type { Holder, PushAuthority } from "../../access/authority.ts";
import type { Stage } from "../../database/stage.ts";
import { type Clock, systemClock } from "../../gateway/clock.ts";
import type { Gateway, TakenPush } from "../../gateway/gateway.ts";
import { type RequestedTerms, withTimesAhead } from "../../gateway/leases.ts";
import type { SettlePush } from "../../gateway/push-backlog.ts";
import { TokenBuckets } from "../../limits/client-rate.ts";
import type { LimitCounters } from "../../limits/counters.ts";
import type { Report } from "../../snapshot/report.ts";
import { INSTANCE_NAME } from "../../snapshot/schema.ts";
import { type ApiContext, createApiRoutes } from "../api-routes.ts";
import { type AuditParts, noteForAudit } from "../audit.ts";
import { MOST_LISTED } from "../cluster-state.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { ApiError, controlNotServed, jsonResponse, toApiError } from "../messages/errors.ts";
import { PUSH } from "../route-table.ts";
import { BodyBudget, type PushLimits, readJsonBody, stageLines } from "./bodies.ts";
import type { OpenDesired } from "./desired.ts";
import { countChanges, countRemoval, LeaseRequest, parseMessage } from "./push-messages.ts";

/** What the push routes need of the gateway. */
type PushGateway = Pick<
  Gateway,
  "turns" | "arrived" | "stage" | "push" | "renew" | "totalsOf" | "leave" | "everything" | "unixTime"
>;

/** What the push routes are put together from. */
interface PushDependencies extends AuditParts {
  readonly gateway: PushGateway;
  readonly authority: PushAuthority;
  readonly limits: PushLimits;
  readonly counters?: LimitCounters | undefined;
  /** By which slow bodies are given up. Default: the host's. */
  readonly clock?: Pick<Clock, "setTimer">;
  /** Opens streams of desired states, on hosts that serve them. */
  readonly openDesired?: OpenDesired | undefined;
  /** Called with every error that became a 500. */
  readonly onError?: (error: unknown) => void;
}

/** The lines of a request. */
interface TakenLines {
  readonly stage: Stage;
  /** The worker's report. */
  readonly report: Report;
}

/** Takes the lines of a request; `start` is called with the first one. */
type TakeLines = (start: () => Stage) => Promise<TakenLines>;

/** Bytes of a renewal. They count against no budget, so that a renewal waits for no body. */
const MOST_LEASE_BYTES = 4096;

/** The push API (docs/reference/push-api.md), to be mounted at `/api/v1/clusters`. */
export function createPushRoutes(dependencies: PushDependencies): Hono<AppEnvironment> {
  const { gateway, authority, limits } = dependencies;
  const { clock = systemClock } = dependencies;
  const setTimer: Clock["setTimer"] = (...timer) => clock.setTimer(...timer);
  const admission = new PushAdmission(limits);
  const { turns } = gateway;

  const authorized =
    (handle: (context: ApiContext, clusterId: string, holder: Holder) => Promise<Response>) =>
    async (context: ApiContext): Promise<Response> => {
      const cluster = context.req.param("clusterId") ?? "";
      const shown = [context.req.header("authorization"), context.env?.client] as const;
      const holder = await authority.authorize(...shown, cluster);
      noteForAudit(context, { credential: holder.credential });
      admission.admit(cluster);
      return handle(context, cluster, holder);
    };

  /**
   * A snapshot or a delta. From the end of its body until it is answered from, it waits; also where the
   * gateway could not take it.
   */
  const change = (handle: (context: ApiContext, clusterId: string, take: TakeLines) => Promise<Response>) =>
    authorized((context, clusterId) =>
      admission.run(clusterId, async () => {
        admission.begin(clusterId);
        let settle: SettlePush | undefined;
        const account = admission.bodies.open(clusterId);
        const work = (values: number) => admission.work(clusterId, values);
        const take: TakeLines = async (start) => {
          const reading = { limits, setTimer, account, turns, work };
          let report: Report = {};
          const stage = await stageLines(context.req.raw, reading, (header) => {
            const { formatVersion: _, clusterId: named, ...rest } = header;
            if (named !== clusterId) throw otherCluster(named, clusterId);
            report = rest;
            return start();
          });
          settle = gateway.arrived(clusterId);
          return { stage, report };
        };
        try {
          const response = await handle(context, clusterId, take);
          settle?.(true);
          return response;
        } catch (error) {
          const isOurs = (toApiError(error)?.status ?? 500) >= 500;
          if (isOurs) settle ??= gateway.arrived(clusterId);
          settle?.(!isOurs);
          throw error;
        } finally {
          account.release();
        }
      }),
    );

  return createApiRoutes(PUSH, dependencies, {
    "PUT /:clusterId/snapshot": change(async (context, clusterId, take) => {
      const terms = requestedTerms(context);
      const after = generationIn(context, "after");
      const { stage, report } = await take(() => gateway.stage(clusterId, "whole"));
      const sender = { signal: context.req.raw.signal, after };
      return acknowledge(context, await gateway.push(stage.finish(), { ...terms, report }, sender));
    }),
    "PATCH /:clusterId/snapshot": change(async (context, clusterId, take) => {
      const terms = requestedTerms(context);
      const base = generationIn(context, "baseGeneration") ?? invalidGeneration("baseGeneration");
      const { stage, report } = await take(() => gateway.stage(clusterId, "changes", base));
      return acknowledge(context, await gateway.push(stage.finish(), { ...terms, report }, {}, base));
    }),
    "POST /:clusterId/lease": authorized(async (context, clusterId) => {
      const terms = requestedTerms(context);
      const body = await readJsonBody(context.req.raw, MOST_LEASE_BYTES, { limits, setTimer });
      const { generation, ...report } = parseMessage(LeaseRequest, body);
      const renewed = await gateway.renew(clusterId, generation, { ...terms, report });
      return jsonResponse(200, renewed);
    }),
    "DELETE /:clusterId": authorized(async (context, clusterId) => {
      const after = generationIn(context, "after");
      const instance = instanceIn(context);
      const totals = gateway.totalsOf(clusterId);
      await gateway.leave(clusterId, { signal: context.req.raw.signal, after, instance });
      noteForAudit(context, { changes: totals === undefined ? {} : countRemoval(totals) });
      return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
    }),
    "GET /:clusterId": authorized(async (_, clusterId) =>
      jsonResponse(200, await describeCluster(gateway, clusterId)),
    ),
    "GET /:clusterId/desired": authorized(async (context, clusterId, holder) => {
      const { openDesired } = dependencies;
      if (openDesired === undefined) return controlNotServed();
      const response = openDesired(clusterId, holder, context.req.query("after"), instanceIn(context));
      if (context.req.raw.method === "HEAD") await response.body?.cancel();
      return response;
    }),
  });
}

function acknowledge(context: ApiContext, { acknowledgement, change }: TakenPush): Response {
  const { generation } = acknowledgement;
  noteForAudit(context, { generation, changes: countChanges(change.entries) });
  return jsonResponse(200, acknowledgement);
}

function otherCluster(clusterId: string, expected: string): ApiError {
  const message = `the lines are of cluster "${clusterId}", not of "${expected}"`;
  return new ApiError("CLUSTER_ID_MISMATCH", message);
}

/**
 * A query parameter that is a generation: the one on which lines build, or the newest one that the sender of
 * others knows. Undefined if it is not there.
 */
function generationIn(context: ApiContext, name: "baseGeneration" | "after"): number | undefined {
  const text = context.req.query(name);
  if (text === undefined) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : invalidGeneration(name);
}

function invalidGeneration(name: string): never {
  const message = `the query parameter ${name} must be the generation that was last acknowledged`;
  throw new ApiError("INVALID_BASE_GENERATION", message);
}

function requestedTerms(context: ApiContext): Pick<RequestedTerms, "leaseSeconds" | "instance"> {
  return { leaseSeconds: requestedLease(context), instance: instanceIn(context) };
}

/**
 * The query parameter `instance`: what the worker reads, by a name that no other worker with the cluster id
 * has; undefined if it does not say.
 */
function instanceIn(context: ApiContext): string | undefined {
  const text = context.req.query("instance");
  if (text === undefined || INSTANCE_NAME.test(text)) return text;
  throw new ApiError("INVALID_INSTANCE", "instance must have 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

/** The query parameter `leaseSeconds`; undefined for the gateway's default. */
function requestedLease(context: ApiContext): number | undefined {
  const text = context.req.query("leaseSeconds");
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new ApiError("INVALID_LEASE", "leaseSeconds must be a whole number of seconds");
}

/** @throws {ApiError} 404 for a cluster that is not known. */
async function describeCluster(gateway: PushGateway, clusterId: string): Promise<unknown> {
  const survey = await gateway.everything.survey();
  const status = gateway.everything.status();
  const cluster = status.clusters.find((one) => one.clusterId === clusterId);
  if (cluster === undefined)
    throw new ApiError("UNKNOWN_CLUSTER", `cluster "${clusterId}" has not pushed, or has left`);
  const conflicts = survey?.conflicts.filter(
    ({ winner, disagree }) => winner === clusterId || disagree.includes(clusterId),
  );
  const findings = survey?.findings.filter((finding) => finding.clusterId === clusterId);
  return {
    ...withTimesAhead(cluster, gateway.unixTime(0)),
    conflictCount: conflicts?.length ?? null,
    conflicts: conflicts?.slice(0, MOST_LISTED) ?? null,
    findingCount: findings?.length ?? null,
    findings: findings?.slice(0, MOST_LISTED) ?? null,
  };
}

/** Clusters that are remembered; only those with a credential come so far. */
const MOST_CLUSTERS = 20_000;

/**
 * Bounds the requests of each cluster, and what is read at the same time: no cluster takes the memory or the
 * time of the others.
 */
class PushAdmission {
  readonly bodies: BodyBudget;
  readonly #limits: PushLimits;
  readonly #pushes = new Map<string, number>();
  readonly #requests: TokenBuckets;
  readonly #values: TokenBuckets;

  constructor(limits: PushLimits) {
    const now = () => performance.now();
    this.#limits = limits;
    this.bodies = new BodyBudget(limits);
    const { pushesPerSecond, pushBurst, pushValues, pushValuesPerSecond } = limits;
    this.#requests = new TokenBuckets({ perSecond: pushesPerSecond, burst: pushBurst }, MOST_CLUSTERS, now);
    this.#values = new TokenBuckets(
      { perSecond: pushValuesPerSecond, burst: pushValues },
      MOST_CLUSTERS,
      now,
    );
  }

  /**
   * Counts a request of a cluster.
   * @throws {ApiError} 429
   */
  admit(clusterId: string): void {
    const seconds = this.#requests.take(this.#requests.of(clusterId));
    if (seconds > 0)
      throw new ApiError("TOO_MANY_REQUESTS", "this cluster sends too many requests", {
        headers: { "retry-after": String(seconds) },
        limit: "limits.pushesPerSecond",
      });
  }

  /**
   * Lets a cluster begin a body as long as those before it are paid for. A body is admitted on credit: how
   * much it has is known at its end.
   * @throws {ApiError} 429
   */
  begin(clusterId: string): void {
    const seconds = this.#values.take(this.#values.of(clusterId));
    if (seconds > 0)
      throw new ApiError(
        "TOO_MUCH_WORK",
        `this cluster sends more than ${this.#limits.pushValuesPerSecond} members and elements a second: send deltas`,
        { headers: { "retry-after": String(seconds) }, limit: "limits.pushValuesPerSecond" },
      );
  }

  /** Counts members and elements of a body that began. */
  work(clusterId: string, values: number): void {
    this.#values.owe(this.#values.of(clusterId), values);
  }

  /**
   * Runs a push of a cluster, unless too many of it run.
   * @throws {ApiError} 429
   */
  async run<Result>(clusterId: string, push: () => Promise<Result>): Promise<Result> {
    const running = this.#pushes.get(clusterId) ?? 0;
    if (running >= this.#limits.pushesInFlight)
      throw new ApiError("TOO_MANY_PUSHES", `${running} pushes of this cluster are in progress already`, {
        headers: { "retry-after": "1" },
        limit: "limits.pushesInFlight",
      });
    this.#pushes.set(clusterId, running + 1);
    try {
      return await push();
    } finally {
      const left = this.#pushes.get(clusterId)! - 1;
      if (left === 0) this.#pushes.delete(clusterId);
      else this.#pushes.set(clusterId, left);
    }
  }
}
