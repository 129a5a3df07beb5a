import * as z from "zod";
import { OTHER_STATUS, STATUS } from "../messages/codes.ts";
import { JSON_TYPE } from "../messages/message.ts";
import { APIS, type Api, type Content, type Operation, PATH_PARAMETERS, SCHEMAS } from "./operations.ts";

/** A part of a document. */
type Part = Readonly<Record<string, unknown>>;

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A token, or a JWT of a configured issuer." },
  basic: { type: "http", scheme: "basic" },
  certificate: { type: "mutualTLS", description: "A client certificate of a configured authority." },
};

/**
 * The HTTP API as an OpenAPI 3.1 document, the same on every host: paths that a gateway's settings do not
 * have answer 404.
 * @param version of this software
 */
export function openApiDocument(version: string): Part {
  const operations = Object.entries(APIS).flatMap(([tag, api]) =>
    api.mounts.flatMap((mount) =>
      Object.entries(api.operations).map(([route, operation]) => {
        const [method, below] = route.split(" ") as [string, string];
        const path = `${mount}${below}`.replaceAll(/:(\w+)/g, "{$1}").replace(/(?<=.)\/$/, "");
        const place = { method: method.toLowerCase(), path };
        return { ...place, described: describeOperation(tag, api, place, operation) };
      }),
    ),
  );
  const paths = Object.groupBy(operations, ({ path }) => path);
  return {
    openapi: "3.1.1",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "clusterset-doh",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "A DNS over HTTPS gateway for Kubernetes clustersets. A token in the path, /tokens/{token}, may stand before paths of queries and pages. Pages for people, and the paths of the setting `paths`, which are further DNS resources, are not described here. Errors are those of all operations together: the pages of each API say which it has.",
    },
    servers: [{ url: "/" }],
    tags: Object.entries(APIS).map(([name, { description }]) => ({ name, description })),
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods = []]) => [
        path,
        Object.fromEntries(methods.map(({ method, described }) => [method, described])),
      ]),
    ),
    components: { schemas: jsonSchemas(), responses: errorResponses(), securitySchemes: SECURITY_SCHEMES },
  };
}

function describeOperation(
  tag: string,
  { security }: Api,
  { method, path }: { readonly method: string; readonly path: string },
  { summary, parameters = [], body, success }: Operation,
): Part {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    ...PATH_PARAMETERS[name!],
  }));
  const all = [...inPath, ...parameters];
  return {
    operationId: `${method}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    ...(all.length > 0 && { parameters: all }),
    ...(body && { requestBody: { required: true, content: describeContent(body) } }),
    responses: {
      ...Object.fromEntries(
        Object.keys(CODES).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
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

/** The codes of errors by status. */
const CODES = Object.groupBy(
  [STATUS, OTHER_STATUS].flatMap((table) => Object.entries(table)),
  ([, status]) => status,
);

/** Errors by status, for every operation. */
function errorResponses(): Part {
  return Object.fromEntries(
    Object.entries(CODES).map(([status, rows = []]) => {
      const codes = rows.map(([code]) => code).sort();
      const schema = { allOf: [reference("Error")], properties: { code: { enum: codes } } };
      const inText = {
        type: "string",
        description: "Of queries, status and health, for clients that accept no JSON: the message.",
      };
      const content = { [JSON_TYPE]: { schema }, "text/plain": { schema: inText } };
      return [status, { description: codes.join(", "), content }];
    }),
  );
}

function reference(name: keyof typeof SCHEMAS): Part {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * What is sent: a member with a default may be left out, and clients must take members that they do not know.
 */
function jsonSchemas(): Part {
  const named = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) named.add(schema, { id });
  const { schemas } = z.toJSONSchema(named, { io: "input", uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}
