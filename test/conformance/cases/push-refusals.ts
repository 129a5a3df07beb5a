import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { headerLine, patchPath, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { type CaseBody, type CaseResponse, type HttpCase, httpCase } from "../http-case.ts";
import { pushRequest, type Sent } from "../push-client.ts";
import { streamed } from "./doh.ts";

const DOCUMENT = "docs/reference/push-api.md";
const text = snapshotBody(shopSnapshot("west", 50));
const HEADER = headerLine("west");
const GZIP = { "content-encoding": "gzip" };
const compressed = new Uint8Array(gzipSync(text));

type Request = readonly [method: string, path: string, sent?: Sent];

const row = (
  section: string,
  title: string,
  [method, path, sent]: Request,
  status: number,
  code: string,
  more: CaseResponse = {},
): HttpCase =>
  httpCase(
    `${DOCUMENT}, ${section}`,
    title,
    `/api/v1/clusters/${path}`,
    { status, ...more, refusal: { code, ...more.refusal } },
    pushRequest(method, path, sent),
  );

const body = (
  title: string,
  content: CaseBody,
  headers: Readonly<Record<string, string>>,
  status: number,
  code: string,
  more?: CaseResponse,
) =>
  row(
    "Errors",
    `a body of ${title}`,
    ["PUT", "west/snapshot", { body: content, headers }],
    status,
    code,
    more,
  );

const wrongPort = structuredClone(shopSnapshot("west"));
Object.assign(wrongPort.exports["shop/web"]!.ports[0]!, { port: "http" });

const bodies: readonly HttpCase[] = [
  ...["text/plain", "application/json", "application/x-ndjson; charset=latin1"].map((type) =>
    body(`the type ${type}`, text, { "content-type": type }, 415, "UNSUPPORTED_MEDIA_TYPE", {
      headers: { accept: "application/x-ndjson" },
      text: "application/x-ndjson (UTF-8), one JSON value a line",
    }),
  ),
  body("another encoding", text, { "content-encoding": "br" }, 415, "UNSUPPORTED_ENCODING", {
    headers: { "accept-encoding": "gzip" },
  }),
  body("two encodings", text, { "content-encoding": "gzip, gzip" }, 415, "UNSUPPORTED_ENCODING"),
  body("a body that is not gzip", text, GZIP, 400, "INVALID_GZIP"),
  body("cut gzip", compressed.slice(0, 100), GZIP, 400, "INVALID_GZIP"),
  body("bytes after the gzip", Uint8Array.of(...compressed, 1, 2, 3, 4), GZIP, 400, "INVALID_GZIP"),
  body("UTF-8 cut in a character", Uint8Array.of(0x22, 0xc3, 0x22, 0x0a), {}, 400, "INVALID_UTF8"),
  body("invalid JSON, with its line", sealed(HEADER, '["namespaces" "shop",{}]'), {}, 400, "INVALID_JSON", {
    jsonWith: { details: { line: 2 } },
    text: "line 2: is not JSON",
  }),
  body("nothing", "", {}, 400, "END_MISSING"),
  body("lines without their end", `${HEADER}\n["namespaces","shop",{}]\n`, {}, 400, "END_MISSING", {
    jsonWith: { details: { line: 3 } },
  }),
  body("another number of lines", `${HEADER}\n{"lines":2,"sha256":"00"}\n`, {}, 400, "END_MISMATCH"),
  body("another hash", `${HEADER}\n{"lines":1,"sha256":"00"}\n`, {}, 400, "END_MISMATCH"),
  body("too many levels", `${HEADER}\n["pods","a/b",${"[".repeat(200_000)}\n`, {}, 400, "JSON_TOO_DEEP"),
  body("a line without an end", `${HEADER}\n["pods","${"a".repeat(1_100_000)}`, {}, 413, "LINE_TOO_LONG"),
  body("a member __proto__", sealed(HEADER, '["pods","a/b",{"__proto__":{}}]'), {}, 422, "INVALID_SNAPSHOT", {
    jsonWith: { details: { total: 1, issues: [{ path: 'pods["a/b"].__proto__', line: 2 }] } },
  }),
  body("no changes", sealed(HEADER, "{}"), {}, 400, "INVALID_LINE"),
  body("a wrong report", sealed(headerLine("west", { degraded: "yes" })), {}, 400, "INVALID_LINE", {
    text: "degraded",
  }),
  body("another format", sealed('{"formatVersion":1,"clusterId":"west"}'), {}, 422, "UNSUPPORTED_FORMAT"),
  body("a wrong field", snapshotBody(wrongPort), {}, 422, "INVALID_SNAPSHOT", {
    text: "expected number, received string",
    jsonWith: { details: { total: 1, issues: [{ path: 'exports["shop/web"].ports[0].port', line: 3 }] } },
  }),
  body("another cluster", snapshotBody(shopSnapshot("north")), {}, 422, "CLUSTER_ID_MISMATCH"),
  body(
    "30 million bytes compressed to a few thousand",
    new Uint8Array(gzipSync(`${HEADER}\n${`["pods","a/b",{${" ".repeat(1_000_000)}}]\n`.repeat(30)}`)),
    GZIP,
    413,
    "COMPRESSION_RATIO",
  ),
  ...(
    [
      ["a delta without its base", "PATCH", "west/snapshot", { body: sealed(HEADER) }],
      ["a full push after no generation", "PUT", "west/snapshot?after=-1", { body: text }],
      ["a leave after no generation", "DELETE", "west?after=x", {}],
    ] as const
  ).map(([title, ...request]) => row("Errors", title, request, 422, "INVALID_BASE_GENERATION")),
  row(
    "Errors",
    "a renewal of no generation",
    ["POST", "west/lease", { body: '{"generation":"1"}' }],
    422,
    "INVALID_SNAPSHOT",
    { jsonWith: { details: { issues: [{ path: "generation" }] } } },
  ),
  row(
    "Limits",
    "a renewal of 5000 bytes",
    ["POST", "west/lease", { body: `{"generation":1${" ".repeat(5000)}}` }],
    413,
    "BODY_TOO_LARGE",
  ),
];

const put = (query: string): Request => ["PUT", `west/snapshot?${query}`, { body: text }];

const queries: readonly HttpCase[] = [
  ...["x", "-5", "1e3"].map((seconds) =>
    row("Leases", `a lease of ${seconds} seconds`, put(`leaseSeconds=${seconds}`), 422, "INVALID_LEASE"),
  ),
  ...["0", "999999"].map((seconds) =>
    row("Leases", `a lease of ${seconds} seconds`, put(`leaseSeconds=${seconds}`), 422, "LEASE_OUT_OF_RANGE"),
  ),
  ...["", "a%20b", "a".repeat(65)].map((name) =>
    row("Instances", `an instance with the name "${name}"`, put(`instance=${name}`), 422, "INVALID_INSTANCE"),
  ),
];

const paths: readonly HttpCase[] = [
  ...(
    [
      ["POST", "west/snapshot", "PUT, PATCH"],
      ["GET", "west/snapshot", "PUT, PATCH"],
      ["PUT", "west/lease", "POST"],
      ["PUT", "west", "GET, HEAD, DELETE"],
    ] as const
  ).map(([method, path, allow]) =>
    row("Errors", `${method} ${path}`, [method, path], 405, "METHOD_NOT_ALLOWED", { headers: { allow } }),
  ),
  ...["west/other", "west/snapshot/more", "west/lease/"].map((path) =>
    row("Errors", `PUT ${path}`, ["PUT", path], 404, "NOT_FOUND"),
  ),
  row("Errors", "the status of a cluster that is not there", ["GET", "west"], 404, "UNKNOWN_CLUSTER"),
  ...(
    [
      ["a delta without a snapshot", "PATCH", patchPath("west", 1), { body: sealed(HEADER) }],
      ["a renewal of nothing", "POST", "west/lease", { body: '{"generation":1}' }],
    ] as const
  ).map(([title, ...request]) =>
    row("Generations", title, request, 409, "GENERATION_MISMATCH", {
      refusal: { code: "GENERATION_MISMATCH", currentGeneration: null },
    }),
  ),
];

const BASIC = { authorization: `Basic ${btoa("west:west-token")}` };
const digest = createHash("sha256").update("west-token").digest("hex");

const credentials: readonly HttpCase[] = (
  [
    ["no token", null, 401, "TOKEN_REQUIRED"],
    ["an unknown token", "guess", 401, "UNKNOWN_TOKEN"],
    ["the digest of a token", digest, 401, "UNKNOWN_TOKEN"],
    ["an empty token", "", 401, "TOKEN_REQUIRED"],
    ["the token of another cluster", "east-token", 403, "OTHER_CLUSTER"],
  ] as const
).flatMap(([title, token, status, code]) =>
  (
    [
      ["PUT", "west/snapshot", text],
      ["PATCH", "west/snapshot", "{}"],
      ["POST", "west/lease", "{}"],
      ["DELETE", "west", undefined],
      ["GET", "west", undefined],
    ] as const
  ).map(([method, path, content]) =>
    row(
      "Tokens",
      `${method} ${path} with ${title}`,
      [method, path, { token, ...(content !== undefined && { body: content }) }],
      status,
      code,
      { headers: { "www-authenticate": status === 401 ? /^Bearer / : null } },
    ),
  ),
);

/** Requests that the push API rejects while it has no snapshot of the cluster "west". */
export const pushRefusalCases: readonly HttpCase[] = [
  ...bodies,
  ...queries,
  ...paths,
  ...credentials,
  row(
    "Tokens",
    "a basic credential",
    ["PUT", "west/snapshot", { token: null, body: text, headers: BASIC }],
    401,
    "TOKEN_REQUIRED",
  ),
  ...[
    "..%2f..%2fsecret.txt",
    "%252e%252e%252f",
    "%c0%ae%c0%ae%c0%af",
    "%ef%bc%8e%ef%bc%8e%ef%bc%8f",
    "west%00",
    "west%2f..%2feast.eu",
    "west%0d%0aa:%20b",
    "WEST",
    "west..eu",
    "%zz",
    "__proto__",
    "precedence",
    "a".repeat(255),
  ].map((id) =>
    row(
      "Tokens",
      `a path for the cluster id ${id}`,
      ["PUT", `${id}/snapshot`, { body: text }],
      403,
      "OTHER_CLUSTER",
    ),
  ),
];

/** The bounds of `pushLimitCases`. */
export const PUSH_BOUNDS = { pushSentBytes: 100_000, pushBytes: 500_000 };

const longFor = (cluster: string) => `${headerLine(cluster)}\n["pods","${"ab".repeat(60_000)}`;
const blown = new Uint8Array(gzipSync(`${HEADER}\n["pods","${"ab".repeat(400_000)}`));
const WEST = { cluster: "west", token: "west-token" };
/** What a secondary cuts off counts at its primary, for its cluster, until that sees the connection end. */
const EAST = { cluster: "east.eu", token: "east-token" };

/** Bodies over `PUSH_BOUNDS`. */
export const pushLimitCases: readonly HttpCase[] = (
  [
    ["a too long body", WEST, longFor("west"), {}],
    ["a too long body without Content-Length", EAST, streamed(Buffer.from(longFor("east.eu"))), {}],
    ["a body that is too long after decompression", WEST, blown, GZIP],
    ["a body without Content-Length that is too long after decompression", WEST, streamed(blown), GZIP],
  ] as const
).map(([title, { cluster, token }, content, headers]) =>
  row(
    "Limits",
    title,
    ["PUT", `${cluster}/snapshot`, { token, body: content, headers }],
    413,
    "BODY_TOO_LARGE",
  ),
);
