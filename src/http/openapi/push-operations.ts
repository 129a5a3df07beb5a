import { NDJSON_TYPE } from "../../snapshot/lines/patch-line.ts";
import { CLUSTER_ID, INSTANCE_NAME } from "../../snapshot/schema.ts";
import { JSON_TYPE } from "../messages/fields.ts";
import { MOUNTS } from "../path-table.ts";
import {
  joinCodes,
  OF_BODIES,
  OF_EVERY_PATH,
  OF_GENERATIONS,
  OF_INSTANCES,
  OF_JSON,
  OF_LEASES,
  OF_LINES,
  OF_SECONDARIES,
  OF_STORES,
  OF_TOKENS,
} from "./error-codes.ts";
import { inPath, inQuery, type Operation } from "./operation.ts";

const CLUSTER = `${MOUNTS.push}/{clusterId}`;
const clusterId = inPath("clusterId", "The cluster of the credential.", {
  type: "string",
  pattern: CLUSTER_ID.source,
});
const leaseSeconds = inQuery(
  "leaseSeconds",
  "How long the cluster is live without another request. Seconds.",
  {
    type: "integer",
    minimum: 1,
  },
);
const baseGeneration = {
  ...inQuery("baseGeneration", "The generation that was last acknowledged.", { type: "integer", minimum: 0 }),
  required: true as const,
};
const after = inQuery(
  "after",
  "The newest generation of the cluster that the sender knows: where a newer one is held, the request is rejected.",
  { type: "integer", minimum: 0 },
);
const instance = inQuery(
  "instance",
  "What the worker reads, by a name of its own choice: while the lease of the cluster is held by another one, the request is rejected.",
  { type: "string", pattern: INSTANCE_NAME.source },
);
const acknowledged = {
  200: {
    description: "On disk, and in the answers.",
    content: { [JSON_TYPE]: "Acknowledgement" as const },
  },
};
const ofCluster = joinCodes(OF_EVERY_PATH, OF_TOKENS, OF_SECONDARIES);
const ofChange = joinCodes(ofCluster, OF_BODIES, OF_LINES, OF_LEASES, OF_STORES);
const shared = { tag: "push", security: ["bearer", "certificate"] } as const;

/** The push API (docs/reference/push-api.md). */
export const PUSH_OPERATIONS: readonly Operation[] = [
  {
    ...shared,
    method: "put",
    path: `${CLUSTER}/snapshot`,
    summary: "Replaces everything that is known of the cluster.",
    parameters: [clusterId, leaseSeconds, after, instance],
    body: { [NDJSON_TYPE]: "lines" },
    success: acknowledged,
    errors: joinCodes(ofChange, OF_GENERATIONS, OF_INSTANCES, { 422: ["INVALID_BASE_GENERATION"] }),
  },
  {
    ...shared,
    method: "patch",
    path: `${CLUSTER}/snapshot`,
    summary: "Changes entries of the snapshot.",
    parameters: [clusterId, baseGeneration, leaseSeconds, instance],
    body: { [NDJSON_TYPE]: "lines" },
    success: acknowledged,
    errors: joinCodes(ofChange, OF_GENERATIONS, OF_INSTANCES, { 422: ["INVALID_BASE_GENERATION"] }),
  },
  {
    ...shared,
    method: "post",
    path: `${CLUSTER}/lease`,
    summary: "Renews the lease: the cluster is alive and unchanged.",
    parameters: [clusterId, leaseSeconds, instance],
    body: { [JSON_TYPE]: "LeaseRequest" },
    success: acknowledged,
    errors: joinCodes(ofCluster, OF_BODIES, OF_JSON, OF_LEASES, OF_GENERATIONS, OF_INSTANCES, OF_STORES, {
      422: ["INVALID_SNAPSHOT"],
    }),
  },
  {
    ...shared,
    method: "get",
    path: CLUSTER,
    summary: "Returns the generation, the lease, conflicts and findings of the cluster.",
    parameters: [clusterId],
    success: { 200: { description: "The cluster.", content: { [JSON_TYPE]: "ClusterStatus" } } },
    errors: joinCodes(ofCluster, { 404: ["UNKNOWN_CLUSTER"] }),
  },
  {
    ...shared,
    method: "get",
    path: `${CLUSTER}/desired`,
    summary: "Streams what the gateway desires in the cluster: the state, then its changes.",
    parameters: [
      clusterId,
      inQuery("after", "The position from which to resume.", { type: "string" }),
      instance,
    ],
    success: { 200: { description: "Lines until the stream ends.", content: { [NDJSON_TYPE]: "text" } } },
    errors: joinCodes(ofCluster, OF_INSTANCES, {
      403: ["CONTROL_NOT_ALLOWED"],
      409: ["CLUSTER_NOT_LIVE"],
      429: ["TOO_MANY_STREAMS"],
      501: ["CONTROL_NOT_SERVED"],
    }),
  },
  {
    ...shared,
    method: "delete",
    path: CLUSTER,
    summary: "Removes the cluster from the answers: it leaves on purpose.",
    parameters: [clusterId, after, instance],
    success: { 204: { description: "The cluster is unknown, also if it was before." } },
    errors: joinCodes(ofCluster, OF_STORES, OF_GENERATIONS, OF_INSTANCES, {
      422: ["INVALID_BASE_GENERATION"],
    }),
  },
];
