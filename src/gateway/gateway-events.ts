import type { Degradation } from "../snapshot/report/degradation.ts";
import type { RecordDamage } from "../store/remembered/remembered-store.ts";

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
  | {
      readonly event: "compiled";
      /** The scope that the generation is for, as `visibilityKey` has it, without its view; absent for everything. */
      readonly scope?: string;
      /** Whether the generation differs from the one before. */
      readonly changed: boolean;
      readonly rootHash: string;
      readonly generationBytes: number;
      readonly services: number;
      readonly milliseconds: number;
    }
  | { readonly event: "compile-failed"; readonly scope?: string; readonly error: unknown }
  /** A start does not go on from the generation that is kept of a scope: it merges and compiles every service. */
  | { readonly event: "compiles-everything"; readonly scope?: string; readonly because: string }
  /** A copy of what the gateway remembers is damaged. Where it is not lost, the other copy replaced it. */
  | ({ readonly event: "memory-damaged" } & RecordDamage)
  /** Nothing is remembered of a cluster that is answered, or of the gateway's first day: what is answered counts as there first. */
  | { readonly event: "memory-lost"; readonly record: string }
  /** The gateway's first day began in the future, by a wrong clock: it has ended. Times are Unix milliseconds. */
  | { readonly event: "founding-void"; readonly at: number; readonly now: number }
  /** What the gateway remembers could not be written: it is kept with the next change. */
  | { readonly event: "memory-not-kept"; readonly record: string; readonly error: unknown }
  /** Nothing can be stored: changes are refused, what is in memory is answered. */
  | { readonly event: "store-failed"; readonly clusterId: string; readonly error: unknown }
  | { readonly event: "store-works-again" }
  /** The shared log cannot be read: what is held is answered, changes are refused. */
  | { readonly event: "log-not-followed"; readonly reason: string }
  | { readonly event: "log-followed-again" }
  /** The shared log does not go on from what was applied: what it has now was taken over. @see LogFollower.reload */
  | { readonly event: "log-reloaded"; readonly lost: boolean }
  /** What the shared log has of a cluster is not valid: what is held of it stays, and its worker pushes in full. */
  | { readonly event: "log-damaged"; readonly clusterId: string; readonly error: unknown }
  /** A cluster that has gone stays in the store until that can be written, at the latest until the next start. */
  | { readonly event: "removal-failed"; readonly clusterId: string; readonly error: unknown };

/** Takes the gateway's events; must not throw. */
export type OnGatewayEvent = (event: GatewayEvent) => void;

const WARNINGS: ReadonlySet<GatewayEvent["event"]> = new Set([
  "worker-degraded",
  "other-instance",
  "lease-expired",
  "compiles-everything",
  "memory-damaged",
  "memory-lost",
  "founding-void",
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
