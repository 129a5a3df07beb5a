import { Kind } from "../database/places.ts";
import type { LargeEntry } from "../database/prepare.ts";
import { COUNTER } from "../database/reader.ts";
import { NO_TOTALS, type Totals } from "../database/schema.ts";

/** Bounds on what one cluster's snapshot has, by the keys of the settings under `limits`. */
export type SnapshotBounds = Omit<Totals, "characters">;

/** Bounds on what clusters may send to a gateway. */
export interface GatewayLimits extends SnapshotBounds {
  /** Seconds; the default is that of a push without a lease. */
  readonly lease: {
    readonly minimumSeconds: number;
    readonly defaultSeconds: number;
    readonly maximumSeconds: number;
  };
  readonly clusters: number;
  /** Bound on one cluster's snapshot as JSON, in characters: deltas must not grow it without end. */
  readonly snapshotCharacters: number;
  /**
   * Endpoints that an export, an import or a service of a cluster's own zone may have: its names are compiled
   * in one turn.
   */
  readonly endpointsPerService: number;
  /** After how many seconds answers say that they are stale where a push that arrived is not in them. */
  readonly pushDelaySeconds: number;
}

/**
 * Checks that a snapshot is within the bounds for one cluster.
 * @throws {PushRefused} naming the setting
 */
export function checkBounds(limits: SnapshotBounds, totals: SnapshotBounds): void {
  for (const [code, row] of Object.entries(PUSH_REFUSALS)) {
    if (!("what" in row) || totals[row.limit] <= limits[row.limit]) continue;
    const { limit, what } = row;
    const message = `the snapshot has ${totals[limit]} ${what}; the most is ${limits[limit]} (limits.${limit})`;
    throw new PushRefused(code as PushRefusal, message);
  }
}

/**
 * Imports that a cluster's own worker made, which do not count, in one push: one for each service that others
 * export.
 */
const MOST_MANAGED = 50_000;

/**
 * Pods and findings in one of their 256 rows, which is read and written as one: more only where a cluster may
 * have so many that its share would exceed this. Regular names come to a quarter of the rows, and a delta may
 * replace all.
 */
const TOGETHER = new Map<
  Kind,
  { counter: "pods" | "findings"; code: PushRefusal; most: number; share: number }
>([
  [Kind.pods, { counter: "pods", code: "TOO_MANY_PODS", most: 4096, share: 1 / 64 }],
  [Kind.findings, { counter: "findings", code: "TOO_MANY_FINDINGS", most: 1024, share: 1 / 12 }],
]);

/**
 * Checks, while lines come, how many entries of a kind they name: as many as a cluster may have, and as many
 * that go.
 * @param together how many of them are in one row
 * @throws {PushRefused} naming the setting
 */
export function checkNames(limits: SnapshotBounds, kind: Kind, names: number, together = 1): void {
  checkTogether(limits, kind, together);
  const counter = COUNTER[kind];
  if (counter === undefined || names <= 2 * limits[counter]) return;
  if (kind === Kind.import && names <= 2 * limits.imports + MOST_MANAGED) return;
  checkBounds(limits, { ...NO_TOTALS, [counter]: names });
}

function checkTogether(limits: SnapshotBounds, kind: Kind, together: number): void {
  const bound = TOGETHER.get(kind);
  if (bound === undefined) return;
  const { counter, code } = bound;
  const most = Math.max(bound.most, limits[counter] * bound.share);
  if (together <= most) return;
  const message = `${together} ${counter} of the snapshot have names that are kept together; the most is ${most}, which usual names never exceed`;
  throw new PushRefused(code, message);
}

/**
 * Checks the length as JSON of the snapshot that results from a delta.
 * @throws {PushRefused} SNAPSHOT_TOO_LARGE
 */
export function checkCharacters({ snapshotCharacters }: GatewayLimits, { characters }: Totals): void {
  if (characters <= snapshotCharacters) return;
  throw new PushRefused(
    "SNAPSHOT_TOO_LARGE",
    `with this delta the snapshot would have ${characters} characters; the most is ${snapshotCharacters} (limits.snapshotCharacters)`,
  );
}

const KIND_NAMES: Readonly<Partial<Record<Kind, string>>> = {
  [Kind.export]: "export",
  [Kind.import]: "import",
  [Kind.service]: "service",
};

/** Says which service has too many endpoints. */
export function serviceTooLarge(
  { endpointsPerService }: GatewayLimits,
  { kind, name, endpoints }: LargeEntry,
): PushRefused {
  return new PushRefused(
    "SERVICE_TOO_LARGE",
    `the ${KIND_NAMES[kind]} "${name}" has ${endpoints} endpoints; the most is ${endpointsPerService} (limits.endpointsPerService): split it into several services, or raise the limit`,
  );
}

/**
 * The length of a lease in milliseconds; the default where none is requested.
 * @throws {PushRefused} LEASE_OUT_OF_RANGE
 */
export function leaseMilliseconds({ lease }: GatewayLimits, leaseSeconds = lease.defaultSeconds): number {
  const { minimumSeconds, maximumSeconds } = lease;
  if (leaseSeconds >= minimumSeconds && leaseSeconds <= maximumSeconds)
    return Math.round(leaseSeconds * 1000);
  throw new PushRefused(
    "LEASE_OUT_OF_RANGE",
    `a lease has ${minimumSeconds} to ${maximumSeconds} seconds, not ${leaseSeconds}`,
  );
}

/**
 * Why a push is not taken although it is well formed: the status of the response, and the setting under
 * `limits` whose bound it exceeds; of a snapshot, what it has too many of.
 */
export const PUSH_REFUSALS = {
  LEASE_OUT_OF_RANGE: { status: 422, limit: undefined },
  TOO_MANY_CLUSTERS: { status: 503, limit: "clusters" },
  TOO_MANY_NAMESPACES: { status: 413, limit: "namespaces", what: "namespaces" },
  TOO_MANY_EXPORTS: { status: 413, limit: "exports", what: "exports" },
  TOO_MANY_IMPORTS: { status: 413, limit: "imports", what: "imports" },
  TOO_MANY_SERVICES: { status: 413, limit: "services", what: "services" },
  TOO_MANY_PODS: { status: 413, limit: "pods", what: "pods" },
  TOO_MANY_ENDPOINTS: { status: 413, limit: "endpoints", what: "endpoints" },
  TOO_MANY_PORTS: { status: 413, limit: "ports", what: "ports of services and endpoints" },
  TOO_MANY_FINDINGS: { status: 413, limit: "findings", what: "findings" },
  METADATA_TOO_LARGE: {
    status: 413,
    limit: "metadataCharacters",
    what: "characters of exported labels and annotations",
  },
  SERVICE_TOO_LARGE: { status: 413, limit: "endpointsPerService" },
  SNAPSHOT_TOO_LARGE: { status: 413, limit: "snapshotCharacters" },
} as const;
type PushRefusal = keyof typeof PUSH_REFUSALS;

/** A push above the gateway's bounds. */
export class PushRefused extends Error {
  readonly code: PushRefusal;

  constructor(code: PushRefusal, message: string) {
    super(message);
    this.code = code;
  }
}
