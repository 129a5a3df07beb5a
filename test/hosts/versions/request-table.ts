import { queryFor } from "../../forward/fake-upstreams.ts";
import { LINES_TYPE, patchBody, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import type { VersionedRequest } from "./version-clients.ts";

/** A request, and the status that it gets over every version of HTTP. `isCounted`: counters, generations and ages in the response grow from one request to the next. */
export type VersionedRow = readonly [
  title: string,
  status: number,
  request: VersionedRequest,
  isCounted?: "isCounted" | undefined,
];

const NAME = "web.shop.svc.clusterset.local";
const MESSAGE = "application/dns-message";
const dns = (name = NAME) => `/dns-query?dns=${Buffer.from(queryFor(name)).toString("base64url")}`;
const query = queryFor(NAME);
const post = (fields: VersionedRequest["fields"] = {}, more: Partial<VersionedRequest> = {}) =>
  ({
    ...{ method: "POST", path: "/dns-query", body: query },
    fields: { "content-type": MESSAGE, ...fields },
    ...more,
  }) satisfies VersionedRequest;
const get = (path: string, fields: VersionedRequest["fields"] = {}) =>
  ({ method: "GET", path, fields }) satisfies VersionedRequest;
const SNAPSHOT = "/api/v1/clusters/west/snapshot";
const STATE = "/api/v1/transfer/state";

/** The rows that need a credential get those of a gateway. */
export interface Credentials {
  readonly push: string;
  readonly transfer: string;
}

const DNS: readonly VersionedRow[] = [
  ["a query by GET", 200, get(dns(), { accept: MESSAGE })],
  ["a query by HEAD", 200, { method: "HEAD", path: dns() }],
  ["a query by POST", 200, post()],
  ["a query by POST without a length", 200, post({}, { isStreamed: true })],
  ["a query by POST with trailers", 200, post({}, { trailers: { "x-sum": "abc" } })],
  ["a query by POST after 100 (Continue)", 200, post({ expect: "100-continue" })],
  ["a query in a view", 200, get(dns().replace("/dns-query", "/clusters/west/dns-query"))],
  ["a query of another origin", 200, get(dns(), { origin: "https://app.example" })],
  ["a name that does not exist", 200, get(dns(`nothing.${NAME}`))],
  ["a name out of zone", 200, get(dns("example.org"))],
  ["no parameter", 400, get("/dns-query")],
  ["an empty parameter", 400, get("/dns-query?dns=")],
  ["a parameter that is no base64url", 400, get("/dns-query?dns=*")],
  ["malformed percent-encoding", 400, get("/dns-query?dns=%E0%A4")],
  ["a query that is too long by GET", 414, get(`/dns-query?dns=${"A".repeat(6000)}`)],
  ["an Accept that excludes answers", 406, get(dns(), { accept: "text/html" })],
  ["no type of the body", 415, post({ "content-type": "text/plain" })],
  ["a coding of the body", 415, post({ "content-encoding": "gzip" })],
  ["an empty body", 400, post({}, { body: "" })],
  ["no body", 400, { method: "POST", path: "/dns-query", fields: { "content-type": MESSAGE } }],
  ["a body that is too long", 413, post({}, { body: new Uint8Array(70_000) })],
  [
    "a body without a length that is too long",
    413,
    post({}, { body: new Uint8Array(70_000), isStreamed: true }),
  ],
  [
    "a body that is too long and waits for 100 (Continue)",
    413,
    post({ expect: "100-continue" }, { body: new Uint8Array(70_000) }),
  ],
  ["another method", 405, { method: "PUT", path: "/dns-query", body: query }],
  ["a preflight", 204, { method: "OPTIONS", path: "/dns-query", fields: { origin: "https://a.example" } }],
  ["a range", 200, get(dns(), { range: "bytes=0-1" })],
];

const PAGES: readonly VersionedRow[] = [
  ["JSON", 200, get(`/resolve?name=${NAME}&type=A`)],
  ["JSON by HEAD", 200, { method: "HEAD", path: `/resolve?name=${NAME}&type=A` }],
  ["JSON with a type that does not exist", 400, get(`/resolve?name=${NAME}&type=NONE`)],
  ["JSON by another method", 405, { method: "POST", path: `/resolve?name=${NAME}`, body: "" }],
  ["the first page", 200, get("/", { accept: "text/html" }), "isCounted"],
  ["the first page by HEAD", 200, { method: "HEAD", path: "/" }],
  ["the page of a service", 200, get("/services/shop/web"), "isCounted"],
  ["a page by POST", 405, { method: "POST", path: "/", body: "x" }],
  ["a page that does not exist", 404, get("/nothing/here", { accept: "text/html" })],
  ["the OpenAPI document", 200, get("/api/v1/openapi.json")],
  ["the files of a client", 200, get("/setup/curl/curl.sh")],
  ["metrics", 200, get("/metrics"), "isCounted"],
  ["health", 200, get("/healthz")],
  ["readiness", 200, get("/readyz")],
  ["the server as a whole", 204, { method: "OPTIONS", path: "*" }],
  ["a method that nobody implements", 501, { method: "TRACE", path: "/" }],
  ["a path with dots", 404, get("/a/../b/%2e%2e/c")],
  ["a value beyond ASCII", 200, get("/healthz", { "x-name": "caf\u00e9" })],
  ["a field twice", 200, get("/healthz", { "x-name": ["a", "b"] })],
  ["an expectation that nobody meets", 417, post({ expect: "200-maybe" }, { body: undefined as never })],
  ["fields that are too long together", 431, get("/", { "x-long": "a".repeat(9000) })],
  [
    "fields that are too long together, by HEAD",
    431,
    { method: "HEAD", path: "/", fields: { "x-long": "a".repeat(9000) } },
  ],
  [
    "too many fields",
    431,
    get("/", Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, "a"]))),
  ],
];

/** The rows of pushes and transfer. */
function ofClusters({ push, transfer }: Credentials): readonly VersionedRow[] {
  const pushing = { authorization: `Bearer ${push}`, "content-type": LINES_TYPE };
  const body = snapshotBody(shopSnapshot("west", 1));
  const put = (fields: VersionedRequest["fields"] = {}, more: Partial<VersionedRequest> = {}) =>
    ({
      method: "PUT",
      path: SNAPSHOT,
      body,
      fields: { ...pushing, ...fields },
      ...more,
    }) satisfies VersionedRequest;
  const secondary = { authorization: `Bearer ${transfer}` };
  return [
    ["a push", 200, put(), "isCounted"],
    ["a push without a length", 200, put({}, { isStreamed: true }), "isCounted"],
    ["a push with trailers", 200, put({}, { trailers: { "x-sum": "abc" } }), "isCounted"],
    ["a push after 100 (Continue)", 200, put({ expect: "100-continue" }), "isCounted"],
    [
      "a push that waits for 100 (Continue), without a credential",
      401,
      put({ authorization: "", expect: "100-continue" }),
    ],
    ["desired states, which are not served", 501, get(SNAPSHOT.replace("snapshot", "desired"), pushing)],
    ["a push without a credential", 401, { method: "PUT", path: SNAPSHOT, body }],
    ["a push with the type of something else", 415, put({ "content-type": "text/plain" })],
    ["an empty push", 400, put({}, { body: "" })],
    ["a push for another cluster", 403, put({}, { path: SNAPSHOT.replace("west", "east") })],
    [
      "a delta on a generation that is not there",
      409,
      put({}, { method: "PATCH", path: `${SNAPSHOT}?baseGeneration=1`, body: patchBody("west", {}) }),
    ],
    ["a push by another method", 405, put({}, { method: "POST" })],
    [
      "a lease that is no JSON",
      400,
      {
        method: "POST",
        path: "/api/v1/clusters/west/lease",
        fields: { ...pushing, "content-type": "application/json" },
        body: "{",
      },
    ],
    ["the state for secondaries", 200, get(STATE, secondary), "isCounted"],
    ["the state without a credential", 401, get(STATE)],
    ["a part of another state", 404, get("/api/v1/transfer/world?v=0-0", secondary)],
    ["a state by another method", 405, { method: "DELETE", path: STATE, fields: secondary }],
    ["a federation without a certificate", 403, { method: "POST", path: "/federations/east", body: "{}" }],
  ];
}

/** Every row. */
export const versionedRows = (credentials: Credentials) => [...DNS, ...PAGES, ...ofClusters(credentials)];
