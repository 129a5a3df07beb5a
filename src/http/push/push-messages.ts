import * as z from "zod";
import { Degradations, DegradedSince } from "../../snapshot/report/degradation.ts";
import { ClusterId, Finding } from "../../snapshot/schema.ts";
import { collectIssues, SnapshotError } from "../../snapshot/snapshot-error.ts";

const generation = z.int();
const time = z.number().meta({ description: "Unix time in milliseconds." });

/** The name of an instance: what a worker reads. */
export const INSTANCE = /^[A-Za-z0-9._-]{1,64}$/;

/** Body of `POST /api/v1/clusters/{clusterId}/lease`. */
export const LeaseRequest = z.strictObject({
  generation: generation.meta({ description: "The generation that the worker was last acknowledged." }),
  degraded: Degradations.optional(),
});

/** Body of the response to an accepted snapshot, delta or renewal. */
export const AcknowledgementResponse = z.object({ clusterId: ClusterId, generation, expiresAt: time });

/** A property on which the clusters that report a service disagree. */
export const Conflict = z.object({
  namespace: z.string(),
  name: z.string(),
  reason: z.string(),
  property: z.string(),
  winner: z.string(),
  value: z.string(),
  disagree: z.array(z.string()),
  total: z.int(),
  message: z.string(),
});

/** Body of the response to `GET /api/v1/clusters/{clusterId}`. */
export const ClusterResponse = z.object({
  clusterId: ClusterId,
  generation,
  pushedAt: time,
  renewedAt: time,
  expiresAt: time,
  live: z
    .boolean()
    .meta({ description: "False when the lease expired: nothing of the cluster is answered." }),
  exports: z.int(),
  imports: z.int(),
  degraded: z.array(DegradedSince).optional(),
  conflicts: z.array(Conflict),
  findings: z.array(z.object({ ...Finding.shape, clusterId: z.string() })),
});

/** Body of every response that is not a success. */
export const ErrorResponse = z.object({
  code: z.string().meta({ description: "Stable; docs/reference/push-api.md lists them." }),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional().meta({
    description:
      "With 409: `currentGeneration`, the generation that the gateway holds, or with which the cluster left; null for none.",
  }),
});

/**
 * Takes a JSON value as a request body.
 * @throws {SnapshotError} naming each field that is wrong.
 */
export function parseMessage<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new SnapshotError(collectIssues(result.error, []));
  return result.data;
}
