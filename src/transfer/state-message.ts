import * as z from "zod";
import { DegradedSince } from "../snapshot/report/degradation.ts";
import type { TransferState } from "./transfer-state.ts";

const time = z.number().meta({ description: "Unix time in milliseconds." });

/** Body of the response to `GET /api/v1/transfer/state`. What a newer primary says beside this is left out. */
export const TransferStateResponse = z.object({
  at: time.meta({ description: "When the primary sent this, by its own clock." }),
  scope: z
    .string()
    .optional()
    .meta({ description: "The requested scope. Absent where everything exists in it." }),
  serial: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional()
    .meta({ description: "SOA serial of what is served. Absent while nothing is." }),
  status: z.object({
    ready: z.boolean().meta({ description: "False while names can neither be answered nor denied." }),
    rootHash: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .optional()
      .meta({ description: "The hash of the root that is served." }),
    generationBytes: z.int().min(0),
    services: z.int().min(0),
    clusters: z.array(
      z.object({
        clusterId: z.string(),
        generation: z.int(),
        pushedAt: time,
        renewedAt: time,
        expiresAt: time.meta({ description: "When the lease expires." }),
        live: z.boolean(),
        exports: z.int(),
        imports: z.int(),
        degraded: z.array(DegradedSince).optional(),
      }),
    ),
    behindSince: time.optional().meta({
      description: "Since when a change waits that the primary's answers should have: answers are stale.",
    }),
    compileError: z.string().optional().meta({ description: "Why the primary still serves an older state." }),
  }),
});

/** @throws {Error} naming the first field that is wrong */
export function parseTransferState(value: unknown): TransferState {
  const parsed = TransferStateResponse.safeParse(value);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    throw new Error(`the primary's state cannot be read: ${path.join(".") || "the body"}: ${message}`);
  }
  const { at, scope, serial, status } = parsed.data;
  const { rootHash, compileError, behindSince, ...rest } = status;
  return {
    at,
    ...(scope !== undefined && { scope }),
    ...(serial !== undefined && { serial }),
    status: {
      ...rest,
      rootHash,
      ...(behindSince !== undefined && { behindSince }),
      ...(compileError !== undefined && { compileError }),
    },
  };
}
