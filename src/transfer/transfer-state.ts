import * as z from "zod";
import type { Mark } from "../names/key-changes.ts";
import { HeldReport } from "../snapshot/report.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { ChangesForm } from "./part-forms.ts";

const time = z.number().meta({ description: "Unix time in milliseconds." });
const mark = z
  .tuple([z.int().min(0), z.int().min(0)])
  .transform(([position, generation]): Mark => ({ position, generation }));

/** A cluster, live or not. */
export const ClusterState = z.object({
  clusterId: ClusterId,
  generation: z.int(),
  pushedAt: time,
  renewedAt: time,
  expiresAt: time,
  live: z
    .boolean()
    .meta({ description: "False when the lease expired: nothing of the cluster is answered." }),
  exports: z.int().optional(),
  imports: z.int().optional(),
  ...HeldReport.shape,
});

/**
 * Body of the response to `GET /api/v1/transfer/state`. What a newer primary says beside this is left out.
 */
export const TransferStateResponse = z.object({
  at: time.meta({ description: "When the primary sent this, by its own clock." }),
  scope: z
    .string()
    .optional()
    .meta({ description: "The requested scope. Absent where everything exists in it." }),
  epoch: z
    .string()
    .max(64)
    .meta({ description: "The program and its settings: another one has other bytes for the same changes." }),
  base: mark.meta({
    description:
      "A position in the log and the generation of its change: keys without a later change are fetched by it.",
  }),
  recent: mark.meta({ description: "The same of the change before `changes`." }),
  changes: ChangesForm.meta({
    description:
      "The newest changes: generation; and cluster, kind and keys (null: all), where they concern the scope.",
  }),
  world: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "The hash of the world. Absent while names can neither be answered nor denied." }),
  serial: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional()
    .meta({ description: "SOA serial of what is served. Absent while nothing is." }),
  status: z.object({
    ready: z.boolean().meta({ description: "False while names can neither be answered nor denied." }),
    stateHash: z.string().max(64).optional().meta({ description: "Equal where all entries are equal." }),
    compiledBytes: z.int().min(0),
    services: z.int().min(0).optional(),
    clusters: z.array(ClusterState),
    behindSince: time.optional().meta({
      description: "Since when a change waits that the primary's answers should have: answers are stale.",
    }),
  }),
});

/**
 * What a primary reports about what it serves. Small, because a reader requests it every second. A source
 * whose primary may have another clock than the reader gives all times by the reader's.
 */
export type TransferState = z.infer<typeof TransferStateResponse>;

/** A state as it is sent. */
export type SentState = z.input<typeof TransferStateResponse>;

/** @throws {Error} naming the first field that is wrong */
export function parseTransferState(value: unknown): TransferState {
  const parsed = TransferStateResponse.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new Error(`the primary's state cannot be read: ${path.join(".") || "the body"}: ${message}`);
}

/** Where a reader has states and parts from. Every request ends, and rejects, when `signal` says so. */
export interface TransferSource {
  /**
   * The newest state. A source that keeps one for several readers gives none that it got more than
   * `maximumAge` milliseconds ago.
   * @throws {Error} where the primary cannot be reached
   */
  state(maximumAge: number, signal?: AbortSignal): Promise<TransferState>;
  /**
   * The bytes of a part, which are never changed and start at a multiple of 4 in their buffer.
   * @param path of `partPath`
   * @returns undefined where the primary does not have it: its log is another one by now
   * @throws {Error} where the primary cannot be reached
   */
  part(path: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** To be called when what `part` gave is rejected: a source that keeps parts drops that one. */
  drop?(path: string): void;
}

/** What a reader reports to logs and metrics. Times in milliseconds. */
export type TransferEvent =
  /** The newest state could not be taken over; the next try is not before `retryIn`. */
  | { readonly event: "transfer-failed"; readonly error: unknown; readonly retryIn: number }
  /** Another log or other settings than before: nothing that was in memory counts any more. */
  | { readonly event: "log-replaced" }
  /** Bytes that are not the part that they should be, or that this program cannot answer from. */
  | { readonly event: "part-rejected"; readonly part: string; readonly error: unknown }
  /** A query needed a part that could not be had: its answer is old, or SERVFAIL. */
  | { readonly event: "part-unavailable"; readonly part: string; readonly error: unknown }
  /** Answers say that they are stale: the primary last answered at `since` (Unix milliseconds). */
  | { readonly event: "stale"; readonly since: number }
  | { readonly event: "fresh-again" };

/** Takes a reader's events; must not throw. */
export type OnTransferEvent = (event: TransferEvent) => void;

/** Where parts come from: the primary, or a cache that several readers share. */
export type TransferOrigin = "primary" | "cache";

/** Counts what a host has fetched since it started, for all of its readers together. */
export class TransferCounters {
  readonly parts: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };
  /** Bytes of parts as they were sent. */
  readonly bytes: Readonly<Record<TransferOrigin, number>> = { primary: 0, cache: 0 };

  /** Counts one part. */
  count(origin: TransferOrigin, bytes: number): void {
    (this.parts as Record<TransferOrigin, number>)[origin]++;
    (this.bytes as Record<TransferOrigin, number>)[origin] += bytes;
  }
}
