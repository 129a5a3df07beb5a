import { CLUSTER_ID } from "../../snapshot/schema.ts";
import { DNS_JSON, DNS_MESSAGE, JSON_TYPE } from "../messages/fields.ts";
import { MOUNTS } from "../path-table.ts";
import { joinCodes, OF_EVERY_PATH, OF_MESSAGES, OF_QUERIES, OF_RULES } from "./error-codes.ts";
import { type Content, type Field, inPath, inQuery, type Operation } from "./operation.ts";

const FLAG = { type: "string", enum: ["0", "1", "true", "false"], default: "0" };
const type = inQuery("type", "A type by name or number. Default: A.", { type: "string", default: "A" });
const name = inQuery("name", "A DNS name, with or without the trailing dot.", { type: "string" });
const question: readonly Field[] = [
  type,
  inQuery("cd", "The bit CD of the query.", FLAG),
  inQuery("do", "The bit DNSSEC OK of the query.", FLAG),
];
const contentType = inQuery("ct", "The media type of the answer. Default: by Accept.", { type: "string" });
const clusterId = inPath("clusterId", "Answers are as this cluster sees them.", {
  type: "string",
  pattern: CLUSTER_ID.source,
});
const required = { ...name, required: true as const };
const shared = { tag: "queries", security: ["bearer", "basic", "certificate", "optional"] } as const;
const ofQuery = joinCodes(OF_EVERY_PATH, OF_RULES, OF_QUERIES);
const JSON_CONTENT: Content = { [JSON_TYPE]: "JsonAnswer", [DNS_JSON]: "JsonAnswer", [DNS_MESSAGE]: "bytes" };

/** DNS and JSON, for clients in general, or in the view of a cluster. */
function queries(prefix: string, view: readonly Field[], where: string): readonly Operation[] {
  return [
    {
      ...shared,
      method: "get",
      path: `${prefix}/dns-query`,
      summary: `Answers a DNS query${where} (RFC 8484), or a question in JSON.`,
      parameters: [
        ...view,
        inQuery("dns", "A DNS message in base64url. Needed without `name`.", {
          type: "string",
          pattern: "^[A-Za-z0-9_-]+={0,2}$",
        }),
        name,
        ...question,
        contentType,
      ],
      success: { 200: { description: "The answer, with every response code.", content: JSON_CONTENT } },
      errors: joinCodes(ofQuery, OF_MESSAGES),
    },
    {
      ...shared,
      method: "post",
      path: `${prefix}/dns-query`,
      summary: `Answers a DNS query${where} (RFC 8484).`,
      parameters: view,
      body: { [DNS_MESSAGE]: "bytes" },
      success: {
        200: { description: "The answer, with every response code.", content: { [DNS_MESSAGE]: "bytes" } },
      },
      errors: joinCodes(ofQuery, OF_MESSAGES),
    },
    {
      ...shared,
      method: "get",
      path: `${prefix}/resolve`,
      summary: `Answers a question${where} in JSON.`,
      parameters: [...view, required, ...question, contentType],
      success: { 200: { description: "The answer, with every response code.", content: JSON_CONTENT } },
      errors: ofQuery,
    },
    {
      ...shared,
      method: "get",
      path: `${prefix}/explain`,
      summary: `Says why a question${where} has its answer.`,
      parameters: [...view, required, ...question],
      success: { 200: { description: "The explanation.", content: { [JSON_TYPE]: "Explanation" } } },
      errors: ofQuery,
    },
  ];
}

/** `/dns-query`, `/resolve`, `/explain`, also for the view of a cluster (docs/reference/http-api.md). */
export const QUERY_OPERATIONS: readonly Operation[] = [
  ...queries("", [], ""),
  ...queries("/clusters/{clusterId}", [clusterId], " in the view of a cluster"),
];

const text = (description: string) => ({ description, content: { "text/plain": "text" as const } });
const health = { method: "get", tag: "health" } as const;

/** Status, health and metrics (docs/reference/metrics.md). */
export const HEALTH_OPERATIONS: readonly Operation[] = [
  {
    ...health,
    path: "/status",
    summary: "Returns clusters, services, conflicts and findings, as far as they exist for the client.",
    success: { 200: { description: "The status.", content: { [JSON_TYPE]: "StatusReport" } } },
    errors: joinCodes(OF_EVERY_PATH, OF_RULES),
    security: shared.security,
  },
  {
    ...health,
    path: "/healthz",
    summary: "Says that the process answers.",
    success: {
      200: text("It does."),
      503: text("It answers queries, but has taken no changes for a minute: its main thread stands still."),
    },
    errors: {},
    security: [],
  },
  {
    ...health,
    path: "/readyz",
    summary: "Says whether queries are answered.",
    success: {
      200: text("They are."),
      503: text("They are not; clients that see everything get the reason."),
    },
    errors: {},
    security: ["optional"],
  },
  {
    ...health,
    path: "/metrics",
    summary: "Returns metrics for Prometheus, to clients that see everything.",
    success: { 200: text("The metrics.") },
    errors: joinCodes(OF_EVERY_PATH, OF_RULES),
    security: shared.security,
  },
  {
    ...health,
    path: MOUNTS.description,
    summary: "Returns this document.",
    success: { 200: { description: "An OpenAPI 3.1 document.", content: { [JSON_TYPE]: "text" } } },
    errors: OF_EVERY_PATH,
    security: [],
  },
];
