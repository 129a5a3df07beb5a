import * as z from "zod";
import { TransferStateResponse } from "../../transfer/transfer-state.ts";
import { JSON_TYPE } from "../messages/fields.ts";
import { LeaseRequest } from "../push/push-messages.ts";
import { StubRequest } from "../stubs.ts";
import type { ErrorCodes } from "./error-codes.ts";
import type { Content, Operation, SchemaName } from "./operation.ts";
import { PUSH_OPERATIONS } from "./push-operations.ts";
import { HEALTH_OPERATIONS, QUERY_OPERATIONS } from "./query-operations.ts";
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
import { FEDERATION_OPERATIONS, TRANSFER_OPERATIONS } from "./transfer-operations.ts";

/** A part of a document. */
type Part = Readonly<Record<string, unknown>>;

const SCHEMAS: Readonly<Record<SchemaName, z.ZodType>> = {
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
};

const OPERATIONS = [
  ...QUERY_OPERATIONS,
  ...HEALTH_OPERATIONS,
  ...PUSH_OPERATIONS,
  ...TRANSFER_OPERATIONS,
  ...FEDERATION_OPERATIONS,
];

const TAGS = {
  queries: "DNS over HTTPS, JSON and explanations.",
  health: "Status, health and metrics.",
  push: "How a sync worker reports its cluster.",
  transfer: "How secondaries follow a primary. Only where transfer.credentials are set.",
  federations: "Stub zones. Only where tls.clientCaFile is set.",
};

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A token, or a JWT of a configured issuer." },
  basic: { type: "http", scheme: "basic" },
  certificate: { type: "mutualTLS", description: "A client certificate of a configured authority." },
};

/**
 * The HTTP API as an OpenAPI 3.1 document, the same on every host: paths that a gateway's settings do not have answer 404.
 * @param version of this software
 */
export function openApiDocument(version: string): Part {
  const paths = Object.groupBy(OPERATIONS, ({ path }) => path);
  return {
    openapi: "3.1.1",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "clusterset-doh",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "A DNS over HTTPS gateway for Kubernetes clustersets. A token in the path, /tokens/{token}, may stand before paths of queries and pages. Pages for people, and the paths of the setting `paths`, which are further DNS resources, are not described here.",
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, operations = []]) => [
        path,
        Object.fromEntries(operations.map((one) => [one.method, describeOperation(one)])),
      ]),
    ),
    components: { schemas: jsonSchemas(), securitySchemes: SECURITY_SCHEMES },
  };
}

function describeOperation(operation: Operation): Part {
  const { method, path, tag, summary, parameters = [], body, success, errors, security } = operation;
  return {
    operationId: `${method}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: describeContent(body) } }),
    responses: {
      ...describeErrors(errors, tag === "queries" || tag === "health"),
      ...Object.fromEntries(
        Object.entries(success).map(([status, { description, content }]) => [
          status,
          { description, ...(content && { content: describeContent(content) }) },
        ]),
      ),
    },
    security: security.map((scheme) => (scheme === "optional" ? {} : { [scheme]: [] })),
  };
}

function describeContent(content: Content): Part {
  return Object.fromEntries(Object.entries(content).map(([type, kind]) => [type, describeBody(type, kind)]));
}

function describeBody(contentMediaType: string, kind: Content[string]): Part {
  if (kind === "bytes") return {};
  if (kind === "text")
    return { schema: contentMediaType === JSON_TYPE ? { type: "object" } : { type: "string" } };
  if (kind !== "lines") return { schema: reference(kind) };
  const description = "One value a line, each of the schema SnapshotLine: docs/reference/push-api.md, Lines.";
  return { schema: { type: "string", contentMediaType, description } };
}

/** @param isTextToo whether clients that do not accept JSON get a line of text */
function describeErrors(errors: ErrorCodes, isTextToo: boolean): Part {
  return Object.fromEntries(
    Object.entries(errors).map(([status, codes]) => {
      const schema = { allOf: [reference("Error")], properties: { code: { enum: codes } } };
      const content = {
        [JSON_TYPE]: { schema },
        ...(isTextToo && { "text/plain": { schema: { type: "string" } } }),
      };
      return [status, { description: codes.join(", "), content }];
    }),
  );
}

function reference(name: SchemaName): Part {
  return { $ref: `#/components/schemas/${name}` };
}

/** What is sent: a member with a default may be left out, and clients must take members that they do not know. */
function jsonSchemas(): Part {
  const named = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) named.add(schema, { id });
  const { schemas } = z.toJSONSchema(named, { io: "input", uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}
