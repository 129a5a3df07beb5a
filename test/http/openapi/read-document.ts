import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApiDocument } from "../../../src/http/openapi/document.ts";

/** A response of an operation. */
export interface DocumentedResponse {
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}

/** An operation of the document. */
export interface DocumentedOperation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** The parts of the document that tests read. */
export const document = JSON.parse(JSON.stringify(openApiDocument("1.2.3"))) as {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, DocumentedResponse>>;
  };
};

/** All operations as `GET /path/{parameter}`. */
export const operations: ReadonlyMap<string, DocumentedOperation> = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
  ),
);

/** What an operation responds with a status; undefined if the document does not say. */
export function responseOf(operation: string, status: number): DocumentedResponse | undefined {
  const response = operations.get(operation)?.responses[status];
  return response !== undefined && "$ref" in response ? document.components.responses[status] : response;
}

const SCHEMAS = "https://document.example/";
const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
// Members that the document does not have are errors here: it has to name all of them.
ajv.addSchema({ $id: SCHEMAS, components: { schemas: closed(document.components.schemas) } });

/** Checks values of a schema of the document, without members that it does not have. */
export function validatorOf(schema: object): ValidateFunction {
  const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${SCHEMAS}#/components/`));
  return ajv.compile(own as object);
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]));
  const isOpenObject =
    members.type === "object" && members.properties && !("additionalProperties" in members);
  return isOpenObject ? { ...members, additionalProperties: false } : members;
}
