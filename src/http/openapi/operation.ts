import type { ErrorCodes } from "./error-codes.ts";

/** The names of the schemas in `components`. */
export type SchemaName =
  | "SnapshotLine"
  | "LeaseRequest"
  | "Acknowledgement"
  | "ClusterStatus"
  | "TransferState"
  | "StubRequest"
  | "Federation"
  | "Federations"
  | "JsonAnswer"
  | "Explanation"
  | "StatusReport"
  | "Error";

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

/** One method of one path. */
export interface Operation {
  readonly method: "get" | "put" | "patch" | "post" | "delete";
  /** With parameters in braces. */
  readonly path: string;
  readonly tag: "queries" | "push" | "transfer" | "federations" | "health";
  readonly summary: string;
  readonly parameters?: readonly Field[];
  readonly body?: Content;
  readonly success: Readonly<Record<number, Success>>;
  readonly errors: ErrorCodes;
  /** Which of `securitySchemes` help; none for everybody. `optional` where the gateway's access rules decide. */
  readonly security: readonly ("bearer" | "basic" | "certificate" | "optional")[];
}

/** A parameter in the path. */
export const inPath = (name: string, description: string, schema: object): Field => ({
  name,
  in: "path",
  description,
  schema,
  required: true,
});

/** A parameter after `?`. */
export const inQuery = (name: string, description: string, schema: object): Field => ({
  name,
  in: "query",
  description,
  schema,
});
