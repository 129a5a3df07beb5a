import type { Degradation } from "../snapshot/report/degradation.ts";

/** What the gateway tells logs and metrics. */
export type GatewayEvent =
  | {
      readonly event: "pushed";
      readonly clusterId: string;
      readonly generation: number;
      readonly kind: "snapshot" | "patch";
    }
  | { readonly event: "left"; readonly clusterId: string }
  /** A cluster's worker reports something else that keeps it from reading all of the cluster than before. */
  | {
      readonly event: "worker-degraded";
      readonly clusterId: string;
      readonly degraded: readonly Omit<Degradation, "seconds">[];
    }
  | { readonly event: "worker-recovered"; readonly clusterId: string }
  /** A second worker pushes for a cluster: it is rejected while the first one holds the lease. */
  | {
      readonly event: "other-instance";
      readonly clusterId: string;
      readonly holder: string;
      readonly instance: string;
    }
  | { readonly event: "other-instance-gone"; readonly clusterId: string; readonly instance: string }
  | { readonly event: "lease-expired"; readonly clusterId: string; readonly expiredAt: number }
  /** A row of a cluster is not what was written: the cluster leaves the answers until its worker pushes in full. */
  | { readonly event: "rows-damaged"; readonly cluster: string; readonly key?: string | undefined }
  /** What is desired of a service could not be derived: streams that have it go on with what they have. */
  | { readonly event: "desired-failed"; readonly error: unknown }
  /** Nothing can be stored: changes are refused, what is in memory is answered. */
  | { readonly event: "store-failed"; readonly clusterId: string; readonly error: unknown }
  | { readonly event: "store-works-again" }
  /** The shared log cannot be read: what is held is answered, changes are refused. */
  | { readonly event: "log-not-followed"; readonly reason: string }
  | { readonly event: "log-followed-again" }
  /** The shared log does not go on from what was applied: what it has now was taken over. @see LogFollower.reload */
  | { readonly event: "log-reloaded"; readonly lost: boolean }
  /** What the shared log has of a cluster is not valid: what is held of it stays, and its worker pushes in full. */
  | { readonly event: "log-damaged"; readonly clusterId: string; readonly error: unknown };

/** Takes the gateway's events; must not throw. */
export type OnGatewayEvent = (event: GatewayEvent) => void;

const WARNINGS: ReadonlySet<GatewayEvent["event"]> = new Set([
  "worker-degraded",
  "other-instance",
  "lease-expired",
  "rows-damaged",
  "store-works-again",
  "log-not-followed",
  "log-followed-again",
  "log-reloaded",
]);

/** The level at which an event is logged. */
export function levelOf(event: GatewayEvent): "error" | "warn" | "info" {
  if ("error" in event) return "error";
  return WARNINGS.has(event.event) ? "warn" : "info";
}
