import { PART_KINDS, type PartKind } from "../../transfer/part-forms.ts";
import { NONCE_FIELD } from "../../transfer/signature.ts";
import { JSON_TYPE } from "../messages/fields.ts";
import { MOUNTS } from "../path-table.ts";
import {
  joinCodes,
  OF_BODIES,
  OF_EVERY_PATH,
  OF_FEDERATIONS,
  OF_JSON,
  OF_PARTS,
  OF_TOKENS,
  OF_TRANSFERS,
} from "./error-codes.ts";
import { type Field, inPath, inQuery, type Operation } from "./operation.ts";

const scope = inQuery("scope", "A scope, as JSON with its members in order. Default: everything.", {
  type: "string",
});
const nonce: Field = {
  name: NONCE_FIELD,
  in: "header",
  schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  description: "Is signed with the state, where the primary has a key.",
};
const shared = { tag: "transfer", security: ["bearer", "certificate"] } as const;
const ofTransfer = joinCodes(OF_EVERY_PATH, OF_TOKENS, OF_TRANSFERS);
const text = { type: "string" };
const version = inQuery(
  "v",
  "The version: a position in the log and a generation, or the hash of a world.",
  text,
);
const epoch = inQuery("epoch", "That of the state.", text);

/** What names a key beside the kind of zone. */
const ofKey = [inQuery("namespace", "A label.", text), inQuery("label", "The label left of it.", text)];

/** What a part is, and what names it. */
const PARTS: Readonly<Record<PartKind, readonly [summary: string, ...parameters: Field[]]>> = {
  world: ["Returns the settings and clusters that names depend on."],
  changes: ["Returns the changes after a mark, up to the version.", inQuery("from", "The mark.", text)],
  key: [
    "Returns the names of a key in one kind of zone.",
    inQuery("zone", "`clusterset`, `federation`, or `local:` and a cluster id.", text),
    ...ofKey,
  ],
  reverse: [
    "Returns the PTR records that the addresses of a key want.",
    inQuery("zone", "As of a key.", text),
    ...ofKey,
  ],
  names: [
    "Returns a list of what exists.",
    inQuery("list", "`namespaces`, `labels`, `pods` or `ranges`.", text),
    inQuery("of", "A namespace, or a bucket of pods.", text),
    inQuery("prefix", "How the names begin.", text),
  ],
  below: [
    "Returns whether names end with another one.",
    inQuery("tree", "The tree of the zone.", text),
    inQuery("namespace", "A label; empty for all.", text),
    inQuery("name", "A relative name.", text),
  ],
  claims: [
    "Returns for which services clusters report 64 neighbouring addresses.",
    inQuery("bucket", "The bucket of the addresses.", text),
  ],
  services: [
    "Returns a part of the list of services, for pages.",
    inQuery("words", "What `<service>.<namespace>` contains, with spaces between.", text),
    inQuery("view", "A cluster id; empty for outside.", text),
    inQuery("offset", "How many to skip.", text),
    inQuery("most", "How many to list.", text),
  ],
};

function part(kind: PartKind): Operation {
  const [summary, ...parameters] = PARTS[kind];
  return {
    ...shared,
    method: "get",
    path: `${MOUNTS.transfer}/${kind}`,
    summary: `${summary} It never changes.`,
    parameters: [...parameters, version, epoch, scope],
    success: { 200: { description: "The part.", content: { "application/octet-stream": "bytes" } } },
    errors: joinCodes(ofTransfer, OF_PARTS),
  };
}

/** The transfer API (docs/reference/transfer.md). */
export const TRANSFER_OPERATIONS: readonly Operation[] = [
  {
    ...shared,
    method: "get",
    path: `${MOUNTS.transfer}/state`,
    summary: "Returns what is served: the newest changes, and the leases.",
    parameters: [scope, nonce],
    success: { 200: { description: "The state.", content: { [JSON_TYPE]: "TransferState" } } },
    errors: ofTransfer,
  },
  ...PART_KINDS.map(part),
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
    method: "get",
    path: MOUNTS.federations,
    summary: "Lists the registered federations.",
    success: { 200: { description: "All of them.", content: { [JSON_TYPE]: "Federations" } } },
    errors: ofFederation,
  },
  {
    ...federation,
    method: "post",
    path: `${MOUNTS.federations}/{name}`,
    summary: "Registers a federation, or changes its name servers.",
    parameters: [name],
    body: { [JSON_TYPE]: "StubRequest" },
    success: { 200: described("It was registered before."), 201: described("It is new.") },
    errors: joinCodes(ofFederation, OF_BODIES, OF_JSON, wrongName, { 503: ["TOO_MANY_FEDERATIONS"] }),
  },
  {
    ...federation,
    method: "get",
    path: `${MOUNTS.federations}/{name}`,
    summary: "Returns a federation.",
    parameters: [name],
    success: { 200: described("The federation.") },
    errors: joinCodes(ofFederation, wrongName, { 404: ["UNKNOWN_FEDERATION"] }),
  },
  {
    ...federation,
    method: "delete",
    path: `${MOUNTS.federations}/{name}`,
    summary: "Removes a federation.",
    parameters: [name],
    success: { 204: { description: "It is not registered, also if it was not before." } },
    errors: joinCodes(ofFederation, wrongName),
  },
];
