import { NONCE_FIELD } from "../../transfer/signature.ts";
import { JSON_TYPE } from "../messages/media-type.ts";
import {
  joinCodes,
  OF_BODIES,
  OF_EVERY_PATH,
  OF_FEDERATIONS,
  OF_JSON,
  OF_ROOTS,
  OF_SEGMENTS,
  OF_TOKENS,
  OF_TRANSFERS,
} from "./error-codes.ts";
import { type Field, inPath, inQuery, type Operation } from "./operation.ts";

const HASH = { type: "string", pattern: "^[0-9a-f]{32}$" };
const scope = inQuery("scope", "A scope, as JSON with its members in order. Default: everything.", {
  type: "string",
});
const since = inQuery(
  "since",
  "The hash of a part that the secondary has: the response may be the change.",
  HASH,
);
const nonce: Field = {
  ...{ name: NONCE_FIELD, in: "header", schema: HASH },
  description: "Is signed with the state, where the primary has a key.",
};
const known: Field = {
  ...{ name: "If-None-Match", in: "header", schema: { type: "string" } },
  description: "Entity tags that the secondary has.",
};
const notModified = { 304: { description: "The secondary has it." } };
const shared = { tag: "transfer", security: ["bearer", "certificate"] } as const;
const ofTransfer = joinCodes(OF_EVERY_PATH, OF_TOKENS, OF_TRANSFERS);

function part(kind: "root" | "segment", errors: Readonly<Record<number, readonly string[]>>): Operation {
  return {
    ...shared,
    ...{ method: "get", path: `/api/v1/transfer/${kind}s/{hash}` },
    summary: `Returns a ${kind}, or the change to it. It never changes.`,
    parameters: [inPath("hash", `The hash of the ${kind}.`, HASH), scope, since, known],
    success: {
      200: { description: `The ${kind}.`, content: { "application/octet-stream": "bytes" } },
      ...notModified,
    },
    errors: joinCodes(ofTransfer, errors),
  };
}

/** The transfer API (docs/reference/transfer.md). */
export const TRANSFER_OPERATIONS: readonly Operation[] = [
  {
    ...shared,
    ...{ method: "get", path: "/api/v1/transfer/state" },
    summary: "Returns what is served: the hash of the root, and the leases.",
    parameters: [scope, nonce, known],
    success: {
      200: { description: "The state.", content: { [JSON_TYPE]: "TransferState" } },
      ...notModified,
    },
    errors: ofTransfer,
  },
  part("root", OF_ROOTS),
  part("segment", OF_SEGMENTS),
];

const federation = { tag: "federations", security: ["certificate"] } as const;
const name = inPath("name", "A label of a DNS name.", {
  type: "string",
  pattern: "^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$",
});
const wrongName = { 422: ["INVALID_FEDERATION"] };
const described = (description: string) => ({
  description,
  content: { [JSON_TYPE]: "Federation" as const },
});
const ofFederation = joinCodes(OF_EVERY_PATH, OF_FEDERATIONS);

/** The registration of stub zones (docs/how-to/federation.md). */
export const FEDERATION_OPERATIONS: readonly Operation[] = [
  {
    ...federation,
    ...{ method: "get", path: "/federations" },
    summary: "Lists the registered federations.",
    success: { 200: { description: "All of them.", content: { [JSON_TYPE]: "Federations" } } },
    errors: ofFederation,
  },
  {
    ...federation,
    ...{ method: "post", path: "/federations/{name}" },
    summary: "Registers a federation, or changes its name servers.",
    parameters: [name],
    body: { [JSON_TYPE]: "StubRequest" },
    success: { 200: described("It was registered before."), 201: described("It is new.") },
    errors: joinCodes(ofFederation, OF_BODIES, OF_JSON, wrongName, { 503: ["TOO_MANY_FEDERATIONS"] }),
  },
  {
    ...federation,
    ...{ method: "get", path: "/federations/{name}" },
    summary: "Returns a federation.",
    parameters: [name],
    success: { 200: described("The federation.") },
    errors: joinCodes(ofFederation, wrongName, { 404: ["UNKNOWN_FEDERATION"] }),
  },
  {
    ...federation,
    ...{ method: "delete", path: "/federations/{name}" },
    summary: "Removes a federation.",
    parameters: [name],
    success: { 204: { description: "It is not registered, also if it was not before." } },
    errors: joinCodes(ofFederation, wrongName),
  },
];
