import * as z from "zod";
import { EXPLANATION_CODES } from "../../explain/explanation.ts";
import { ExplainedService } from "../../explain/schema.ts";
import { LINES_FORMAT_VERSION } from "../../snapshot/lines/patch-line.ts";
import { COLLECTIONS, SINGLES } from "../../snapshot/parse.ts";
import { Report } from "../../snapshot/report.ts";
import { ClusterId, ClusterSnapshot, Finding } from "../../snapshot/schema.ts";
import { ClusterState } from "../../transfer/transfer-state.ts";

const generation = z.int();
const time = z.number().meta({ description: "Unix time in milliseconds." });

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

const ClusterFinding = z.object({ ...Finding.shape, clusterId: z.string() });

/** Body of the response to `GET /api/v1/clusters/{clusterId}`. */
export const ClusterResponse = ClusterState.extend({
  conflictCount: z
    .int()
    .nullable()
    .meta({ description: "Null, as the list, until the gateway has compiled all services." }),
  conflicts: z.array(Conflict).nullable().meta({ description: "At most 100." }),
  findingCount: z
    .int()
    .nullable()
    .meta({ description: "Null, as the list, until the gateway has compiled all services." }),
  findings: z.array(ClusterFinding).nullable().meta({ description: "At most 100." }),
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

const text = z.string();
const count = z.int().min(0);
const seconds = z.int().min(0).meta({ description: "Seconds." });

export const JsonRecord = z.object({
  name: text,
  type: z.int().meta({ description: "The number of the type." }),
  TTL: seconds,
  data: text.meta({ description: "In the form of zone files (RFC 1035 section 5.1)." }),
});

/** `/resolve`, and `/dns-query` with `name`. */
export const JsonAnswer = z.object({
  Status: z.int().meta({ description: "The response code: 0 NOERROR, 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED." }),
  TC: z.boolean(),
  RD: z.boolean(),
  RA: z.boolean(),
  AD: z.boolean(),
  CD: z.boolean(),
  Question: z.array(z.object({ name: text, type: z.int() })),
  Answer: z.array(JsonRecord).optional(),
  Authority: z.array(JsonRecord).optional(),
  Additional: z.array(JsonRecord).optional(),
  Comment: text.meta({
    description: "Extended DNS Errors; the view; when each cluster was last seen.",
  }),
});

/** `/explain`. */
export const Explanation = z.object({
  question: z.object({ name: text, type: text }),
  view: z.object({
    cluster: text.optional(),
    region: text.optional(),
    zone: text.optional(),
    byLocation: z.literal(true).optional(),
  }),
  status: text.meta({ description: "The response code by name." }),
  code: z.enum(EXPLANATION_CODES),
  message: text,
  records: z
    .array(z.object({ name: text, type: text, ttl: seconds, data: text, from: z.array(text) }))
    .meta({ description: "At most 1000." }),
  recordCount: count,
  leases: z.array(
    z.object({
      clusterId: text,
      expiresInSeconds: seconds.nullable().meta({ description: "Null for a cluster that is not live." }),
    }),
  ),
  service: ExplainedService.optional(),
  conflicts: z.array(Conflict),
  findings: z.array(ClusterFinding),
  suggestions: z.array(z.object({ name: text, because: text })),
  omitted: z.array(text),
  comment: text,
});

const listOf = <Entry extends z.ZodType>(entry: Entry) =>
  z
    .object({ total: count, entries: z.array(entry).meta({ description: "At most 100." }) })
    .nullable()
    .meta({ description: "Null on hosts that do not know them." });

const numberOf = count.nullable().meta({ description: "Null where they are not counted yet." });

/** `/status`. */
export const StatusReport = z.object({
  ready: z.boolean().meta({ description: "Whether queries get answers." }),
  position: z.int().optional().meta({
    description: "The newest entry of the shared log that is in the answers; absent without one.",
  }),
  stateHash: text
    .optional()
    .meta({ description: "The hash of what is served: equal at equal positions of a log." }),
  stale: z.array(text).meta({ description: "Why answers say that they are stale." }),
  services: numberOf,
  clusters: z.array(
    z.object({
      clusterId: text,
      live: z.boolean(),
      lastSeenSeconds: seconds,
      expiresInSeconds: seconds,
      exports: numberOf,
      imports: numberOf,
      degraded: z.array(text).meta({
        description:
          "What keeps its worker from reading all of the cluster: `API server unreachable for 4 min`.",
      }),
    }),
  ),
  neverSeen: z.array(text).meta({
    description: "Clusters that may push, and never did since the gateway started.",
  }),
  conflicts: listOf(Conflict),
  findings: listOf(ClusterFinding),
});

/** A registered stub zone. */
export const Federation = z.object({
  name: text,
  nameservers: z.array(text),
  zones: z.array(text).meta({ description: "The names that are forwarded." }),
});

/** All registered stub zones. */
export const Federations = z.object({ federations: z.array(Federation) });

const Header = z
  .strictObject({
    formatVersion: z.literal(LINES_FORMAT_VERSION),
    clusterId: ClusterId,
    ...Report.shape,
  })
  .meta({ description: "The first line." });

const End = z
  .strictObject({
    lines: z.int().min(1).meta({ description: "Lines before this one." }),
    sha256: z
      .string()
      .regex(/^[0-9A-Fa-f]{64}$/)
      .meta({ description: "SHA-256 of all bytes before this line, in hex." }),
  })
  .meta({ description: "The last line." });

const removed = z.null().meta({ description: "Removes it." });
const patch = z
  .record(z.string(), z.unknown())
  .meta({ description: "An RFC 7396 merge patch on the entry, or a further piece of a large one." });

const entries = COLLECTIONS.map((name) => {
  const given = ClusterSnapshot.shape[name];
  const table = "keyType" in given ? given : given.unwrap();
  return z.tuple([z.literal(name), z.string(), z.union([table.valueType as z.ZodType, patch, removed])]);
});
const singles = SINGLES.map((name) =>
  z.tuple([z.literal(name), z.union([ClusterSnapshot.shape[name].unwrap(), patch, removed])]),
);

/** One line of a push, for the JSON Schema; `Stage` validates what is pushed. */
export const SnapshotLine = z.union([Header, ...entries, ...singles, End]);
