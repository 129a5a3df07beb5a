import { withSourceCluster } from "../../../src/resolve/query.ts";
import { base64url, query } from "../../http/fake-gateway.ts";
import { type HttpCase, httpCase, makeRequest } from "../http-case.ts";
import { NAME } from "./doh.ts";

/** The EDNS option code of the source cluster in the tables. */
export const OPTION_CODE = 65400;
/** The only clusters that clients on this machine may name by the option. */
export const TRUSTED = [
  { clusterId: "cluster-a", addresses: ["127.0.0.1/32", "::1"] },
  { clusterId: "cluster-b", addresses: ["10.0.0.0/8"] },
];
/** The clusters of each token. */
export const CLIENT_TOKENS = [
  { clusterId: "cluster-a", token: "token-a" },
  { clusterId: "cluster-a", token: "token-of-two" },
  { clusterId: "cluster-b", token: "token-of-two" },
];

const DNS = "application/dns-message";
const SECTION = "docs/how-to/federation.md, the source cluster of a client";

/** A query from this machine. */
export interface ClientQuery {
  readonly path?: string;
  readonly token?: string;
  /** The cluster in the EDNS option. */
  readonly option?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One row: a query with its credentials, and the view of its answer. */
export interface ViewCase extends ClientQuery {
  readonly section: string;
  readonly title: string;
  /** Undefined for outside. */
  readonly view: string | undefined;
  readonly cacheControl: string;
  readonly vary: string | null;
}

/** The request of a row. */
export function clientRequest(name: string, asked: ClientQuery, method: "GET" | "POST"): Request {
  const { path = "/dns-query", token, option, headers: more } = asked;
  const message =
    option === undefined ? query(name) : new Uint8Array(withSourceCluster(query(name), OPTION_CODE, option));
  const headers = {
    accept: DNS,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...more,
  };
  return method === "GET"
    ? makeRequest({ path: `${path}?dns=${base64url(message)}`, headers })
    : makeRequest({ method, path, headers: { ...headers, "content-type": DNS }, body: message });
}

const anybody = { cacheControl: "max-age=5", vary: "authorization" };
const oneClient = { cacheControl: "private, max-age=5", vary: "authorization" };
const byPath = { cacheControl: "max-age=5", vary: null };

/** The view of queries from this machine, with `TRUSTED` and `CLIENT_TOKENS` configured. Caches: RFC 9111. */
export const viewCases: readonly ViewCase[] = (
  [
    ["a client without credentials", {}, undefined, anybody],
    ["a client with a token", { token: "token-a" }, "cluster-a", oneClient],
    [
      "a token and the option of another cluster",
      { token: "token-a", option: "cluster-b" },
      "cluster-a",
      oneClient,
    ],
    ["a token of two clusters", { token: "token-of-two" }, undefined, oneClient],
    [
      "a token of two clusters with an option",
      { token: "token-of-two", option: "cluster-b" },
      "cluster-b",
      oneClient,
    ],
    ["an option from a trusted address", { option: "cluster-a" }, "cluster-a", oneClient],
    ["an option from another cluster's address", { option: "cluster-b" }, undefined, oneClient],
    ["an option for a cluster without trusted addresses", { option: "cluster-c" }, undefined, oneClient],
    [
      "an option, and a forged header of a proxy",
      { option: "cluster-b", headers: { "x-forwarded-for": "10.1.2.3", forwarded: "for=10.1.2.3" } },
      undefined,
      oneClient,
    ],
    ["a path", { path: "/clusters/cluster-b/dns-query" }, "cluster-b", byPath],
    [
      "a path against a token and an option",
      { path: "/clusters/cluster-b/dns-query", token: "token-a", option: "cluster-a" },
      "cluster-b",
      byPath,
    ],
    ["another scheme of authorization", { headers: { authorization: "Basic dTpw" } }, undefined, oneClient],
  ] as const
).map(([title, asked, view, caches]) => ({ section: SECTION, title, ...asked, view, ...caches }));

/** The same in whole responses. */
export const viewHttpCases: readonly HttpCase[] = [
  httpCase(
    SECTION,
    "JSON is answered by token, too",
    `/resolve?name=${NAME}`,
    {
      status: 200,
      headers: { "cache-control": "private, max-age=5", vary: "authorization, accept" },
      text: "seen from cluster-a",
    },
    { headers: { authorization: "Bearer token-a" } },
  ),
  ...[
    { method: "GET", path: `/dns-query?dns=${base64url(query(NAME))}`, headers: {} },
    { method: "POST", path: "/dns-query", headers: { "content-type": DNS }, body: query(NAME) },
  ].map(({ path, headers, ...request }) =>
    httpCase(
      "RFC 6750 section 3.1",
      `${request.method} with an unknown token is rejected`,
      path,
      {
        status: 401,
        headers: { "www-authenticate": /error="invalid_token"/, "cache-control": "no-store" },
        text: "the gateway does not know this bearer token",
      },
      { ...request, headers: { authorization: "Bearer stolen", ...headers } },
    ),
  ),
];
