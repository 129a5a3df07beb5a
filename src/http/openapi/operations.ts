import type * as z from "zod";
import { NDJSON_TYPE } from "../../snapshot/lines/patch-line.ts";
import { CLUSTER_ID, INSTANCE_NAME } from "../../snapshot/schema.ts";
import { NONCE_FIELD } from "../../transfer/signature.ts";
import { TransferStateResponse } from "../../transfer/transfer-state.ts";
import { DNS_JSON, DNS_MESSAGE, JSON_TYPE } from "../messages/message.ts";
import { LeaseRequest } from "../push/push-messages.ts";
import { DESCRIPTION, FEDERATION_NAME, FEDERATIONS, PUSH, type RouteOf, TRANSFER } from "../route-table.ts";
import { StubRequest } from "../stubs.ts";
import {
  AcknowledgementResponse,
  ClusterResponse,
  ErrorResponse,
  Explanation,
  Federation,
  Federations,
  JsonAnswer,
  SnapshotLine,
  StatusReport,
} from "./schemas.ts";

/** The schemas of the document, by their names there. */
export const SCHEMAS = {
  SnapshotLine,
  LeaseRequest,
  Acknowledgement: AcknowledgementResponse,
  ClusterStatus: ClusterResponse,
  TransferState: TransferStateResponse,
  StubRequest,
  Federation,
  Federations,
  JsonAnswer,
  Explanation,
  StatusReport,
  Error: ErrorResponse,
} satisfies Readonly<Record<string, z.ZodType>>;

type SchemaName = keyof typeof SCHEMAS;

/** The bodies of a media type: JSON of a schema, bytes, or text. */
export type Content = Readonly<Record<string, SchemaName | "bytes" | "text" | "lines">>;

/** A parameter, or a header field. */
export interface Field {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly schema: object;
  readonly required?: true;
}

/** A response that is no error. */
interface Success {
  readonly description: string;
  readonly content?: Content;
}

/** What a route does. */
export interface Operation {
  readonly summary: string;
  readonly success: Readonly<Record<number, Success>>;
  /** Beside those in the path. */
  readonly parameters?: readonly Field[];
  readonly body?: Content;
}

/** What operations have in common. */
export interface Api {
  readonly description: string;
  /** Where the routes are, each below all of them. */
  readonly mounts: readonly string[];
  /**
   * Which of `securitySchemes` help; none for everybody. `optional` where the gateway's access rules decide.
   */
  readonly security: readonly ("bearer" | "basic" | "certificate" | "optional")[];
  /** By `<method> <path below the mount>`, in Hono's syntax. */
  readonly operations: Readonly<Record<string, Operation>>;
}

const text = { type: "string" };
const inQuery = (name: string, description: string, schema: object = text): Field => ({
  name,
  in: "query",
  description,
  schema,
});
const operation = (
  summary: string,
  success: Operation["success"],
  rest?: Pick<Operation, "parameters" | "body">,
): Operation => ({ summary, success, ...rest });
const ok = (description: string, content: Content) => ({ 200: { description, content } });
const json = (description: string, schema: SchemaName) => ok(description, { [JSON_TYPE]: schema });

const FLAG = { type: "string", enum: ["0", "1", "true", "false"], default: "0" };
const generation = { type: "integer", minimum: 0 };
const dns = inQuery("dns", "A DNS message in base64url. Needed without `name`.", {
  type: "string",
  pattern: "^[A-Za-z0-9_-]+={0,2}$",
});
const name = inQuery("name", "A DNS name, with or without the trailing dot.");
const required = { ...name, required: true as const };
const question = [
  inQuery("type", "A type by name or number. Default: A.", { type: "string", default: "A" }),
  inQuery("cd", "The bit CD of the query.", FLAG),
  inQuery("do", "The bit DNSSEC OK of the query.", FLAG),
];
const contentType = inQuery("ct", "The media type of the answer. Default: by Accept.");
const answer = (content: Content) => ok("The answer, with every response code.", content);
const ANSWER = answer({ [JSON_TYPE]: "JsonAnswer", [DNS_JSON]: "JsonAnswer", [DNS_MESSAGE]: "bytes" });

/** docs/reference/http-api.md */
const queries = {
  "GET /dns-query": operation("Answers a DNS query (RFC 8484), or a question in JSON.", ANSWER, {
    parameters: [dns, name, ...question, contentType],
  }),
  "POST /dns-query": operation("Answers a DNS query (RFC 8484).", answer({ [DNS_MESSAGE]: "bytes" }), {
    body: { [DNS_MESSAGE]: "bytes" },
  }),
  "GET /resolve": operation("Answers a question in JSON.", ANSWER, {
    parameters: [required, ...question, contentType],
  }),
  "GET /explain": operation("Says why a question has its answer.", json("The explanation.", "Explanation"), {
    parameters: [required, ...question],
  }),
};

const line = (description: string) => ({ description, content: { "text/plain": "text" as const } });
const status = {
  "GET /status": operation(
    "Returns clusters, services, conflicts and findings, as far as they exist for the client.",
    json("The status.", "StatusReport"),
  ),
  "GET /metrics": operation("Returns metrics for Prometheus, to clients that see everything.", {
    200: line("The metrics."),
  }),
};
const health = {
  "GET /healthz": operation("Says that the process answers.", {
    200: line("It does."),
    503: line("It answers queries, but has taken no changes for a minute: its main thread stands still."),
  }),
  "GET /readyz": operation("Says whether queries are answered.", {
    200: line("They are."),
    503: line("They are not; clients that see everything get the reason."),
  }),
  [`GET ${DESCRIPTION}`]: operation(
    "Returns this document.",
    ok("An OpenAPI 3.1 document.", { [JSON_TYPE]: "text" }),
  ),
};

const leaseSeconds = inQuery(
  "leaseSeconds",
  "How long the cluster is live without another request. Seconds.",
  { type: "integer", minimum: 1 },
);
const base = inQuery("baseGeneration", "The generation that was last acknowledged.", generation);
const after = inQuery(
  "after",
  "The newest generation of the cluster that the sender knows: where a newer one is held, the request is rejected.",
  generation,
);
const instance = inQuery(
  "instance",
  "What the worker reads, by a name of its own choice: while the lease of the cluster is held by another one, the request is rejected.",
  { type: "string", pattern: INSTANCE_NAME.source },
);
const acknowledged = json("On disk, and in the answers.", "Acknowledgement");

/** docs/reference/push-api.md */
const push: Readonly<Record<RouteOf<typeof PUSH>, Operation>> = {
  "PUT /:clusterId/snapshot": operation("Replaces everything that is known of the cluster.", acknowledged, {
    parameters: [leaseSeconds, after, instance],
    body: { [NDJSON_TYPE]: "lines" },
  }),
  "PATCH /:clusterId/snapshot": operation("Changes entries of the snapshot.", acknowledged, {
    parameters: [{ ...base, required: true }, leaseSeconds, instance],
    body: { [NDJSON_TYPE]: "lines" },
  }),
  "POST /:clusterId/lease": operation("Renews the lease: the cluster is alive and unchanged.", acknowledged, {
    parameters: [leaseSeconds, instance],
    body: { [JSON_TYPE]: "LeaseRequest" },
  }),
  "GET /:clusterId": operation(
    "Returns the generation, the lease, conflicts and findings of the cluster.",
    json("The cluster.", "ClusterStatus"),
  ),
  "GET /:clusterId/desired": operation(
    "Streams what the gateway desires in the cluster: the state, then its changes.",
    ok("Lines until the stream ends.", { [NDJSON_TYPE]: "text" }),
    { parameters: [inQuery("after", "The position from which to resume."), instance] },
  ),
  "DELETE /:clusterId": operation(
    "Removes the cluster from the answers: it leaves on purpose.",
    { 204: { description: "The cluster is unknown, also if it was before." } },
    { parameters: [after, instance] },
  ),
};

const scope = inQuery("scope", "A scope, as JSON with its members in order. Default: everything.");
const nonce: Field = {
  name: NONCE_FIELD,
  in: "header",
  schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  description: "Is signed with the state, where the primary has a key.",
};
const version = inQuery("v", "The version: a position in the log and a generation, or the hash of a world.");
const epoch = inQuery("epoch", "That of the state.");

/** What names a key beside the kind of zone. */
const ofKey = [inQuery("namespace", "A label."), inQuery("label", "The label left of it.")];

const part = (summary: string, ...parameters: Field[]) =>
  operation(`${summary} It never changes.`, ok("The part.", { "application/octet-stream": "bytes" }), {
    parameters: [...parameters, version, epoch, scope],
  });

/** docs/reference/transfer.md */
const transfer: Readonly<Record<RouteOf<typeof TRANSFER>, Operation>> = {
  "GET /state": operation(
    "Returns what is served: the newest changes, and the leases.",
    json("The state.", "TransferState"),
    { parameters: [scope, nonce] },
  ),
  "GET /world": part("Returns the settings and clusters that names depend on."),
  "GET /changes": part("Returns the changes after a mark, up to the version.", inQuery("from", "The mark.")),
  "GET /key": part(
    "Returns the names of a key in one kind of zone.",
    inQuery("zone", "`clusterset`, `federation`, or `local:` and a cluster id."),
    ...ofKey,
  ),
  "GET /reverse": part(
    "Returns the PTR records that the addresses of a key want.",
    inQuery("zone", "As of a key."),
    ...ofKey,
  ),
  "GET /names": part(
    "Returns a list of what exists.",
    inQuery("list", "`namespaces`, `labels`, `pods` or `buckets`."),
    inQuery("of", "A namespace, or a bucket of pods."),
    inQuery("prefix", "How the names begin."),
  ),
  "GET /below": part(
    "Returns whether services of a namespace have names.",
    inQuery("tree", "The tree of the zone."),
    inQuery("namespace", "A label."),
  ),
  "GET /claims": part(
    "Returns for which services clusters report 64 neighbouring addresses.",
    inQuery("bucket", "The bucket of the addresses."),
  ),
  "GET /services": part(
    "Returns a part of the list of services, for pages.",
    inQuery("words", "What `<service>.<namespace>` contains, with spaces between."),
    inQuery("view", "A cluster id; empty for outside."),
    inQuery("offset", "How many to skip."),
    inQuery("most", "How many to list."),
  ),
};

const federation = (description: string) => ({
  description,
  content: { [JSON_TYPE]: "Federation" as const },
});

/** docs/how-to/federation.md */
const federations: Readonly<Record<RouteOf<typeof FEDERATIONS>, Operation>> = {
  "GET /": operation("Lists the registered federations.", json("All of them.", "Federations")),
  "POST /:name": operation(
    "Registers a federation, or changes its name servers.",
    { 200: federation("It was registered before."), 201: federation("It is new.") },
    { body: { [JSON_TYPE]: "StubRequest" } },
  ),
  "GET /:name": operation("Returns a federation.", json("The federation.", "Federation")),
  "DELETE /:name": operation("Removes a federation.", {
    204: { description: "It is not registered, also if it was not before." },
  }),
};

/** The parameters in paths. */
export const PATH_PARAMETERS: Readonly<Record<string, Pick<Field, "description" | "schema">>> = {
  clusterId: {
    description: "The cluster whose view answers have, or that of the credential.",
    schema: { type: "string", pattern: CLUSTER_ID.source },
  },
  name: {
    description: "A label of a DNS name.",
    schema: { type: "string", pattern: FEDERATION_NAME.source },
  },
};

const RULES = ["bearer", "basic", "certificate", "optional"] as const;
const TOKENS = ["bearer", "certificate"] as const;

/** By tag. */
export const APIS: Readonly<Record<string, Api>> = {
  queries: {
    description:
      "DNS over HTTPS, JSON and explanations; below `/clusters/{clusterId}` in the view of a cluster.",
    security: RULES,
    mounts: ["", "/clusters/:clusterId"],
    operations: queries,
  },
  status: {
    description: "Status and metrics.",
    security: RULES,
    mounts: [""],
    operations: status,
  },
  health: {
    description: "Health, and this document.",
    security: [],
    mounts: [""],
    operations: health,
  },
  push: {
    description: "How a sync worker reports its cluster.",
    security: TOKENS,
    mounts: [PUSH.mount],
    operations: push,
  },
  transfer: {
    description: "How secondaries follow a primary. Only where transfer.credentials are set.",
    security: TOKENS,
    mounts: [TRANSFER.mount],
    operations: transfer,
  },
  federations: {
    description: "Stub zones. Only where tls.clientCaFile is set.",
    security: ["certificate"],
    mounts: [FEDERATIONS.mount],
    operations: federations,
  },
};
