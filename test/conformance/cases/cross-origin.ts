import { base64url, query } from "../../http/fake-gateway.ts";
import { type HttpCase, httpCase } from "../http-case.ts";
import { NAME } from "./doh.ts";

/** The origin in the list of allowed origins. */
export const ORIGIN = "https://app.example.org";

const SECTION = "Fetch standard section 3.3 (CORS)";
const wire = `/dns-query?dns=${base64url(query(NAME))}`;
const paths = [
  [wire, 200],
  ["/resolve?name=a.example", 200],
  ["/dns-query", 400],
  ["/nowhere", 404],
  ["/clusters/none/dns-query", 404],
] as const;
const preflight = (origin: string) => ({
  origin,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type",
});

const NOTHING = {
  "access-control-allow-origin": null,
  "access-control-expose-headers": null,
  "access-control-allow-methods": null,
  "access-control-allow-headers": null,
};

const DOCUMENT = "docs/reference/http-api.md, Cross-origin requests";
const options = (origin: string) => ({ method: "OPTIONS", headers: preflight(origin) });

/** Without configured origins. */
export const closedOriginCases: readonly HttpCase[] = [
  ...paths.map(([path, status]) =>
    httpCase(
      DOCUMENT,
      `no foreign origin may read ${path}`,
      path,
      { status, headers: NOTHING },
      { headers: { origin: ORIGIN } },
    ),
  ),
  ...["/dns-query", "/resolve", "/clusters/cluster-a/dns-query"].map((path) =>
    httpCase(
      DOCUMENT,
      `a preflight for ${path} allows nothing`,
      path,
      { status: 204, headers: NOTHING },
      {
        method: "OPTIONS",
        headers: { ...preflight(ORIGIN), "access-control-request-private-network": "true" },
      },
    ),
  ),
];

/** Resources that no web page may read with any configuration. */
export const neverReadableCases: readonly HttpCase[] = (
  [
    ["GET", "/api/v1/clusters/cluster-a"],
    ["PUT", "/api/v1/clusters/cluster-a"],
    ["OPTIONS", "/api/v1/clusters/cluster-a"],
    ["GET", "/api/v1/transfer/state"],
    ["GET", "/api/v1/nowhere"],
    ["GET", "/federations/one"],
  ] as const
).map(([method, path]) =>
  httpCase(
    DOCUMENT,
    `${method} ${path} is not readable by pages of other origins`,
    path,
    { headers: NOTHING },
    { method, headers: preflight(ORIGIN) },
  ),
);

/** With all origins allowed. */
export const crossOriginCases: readonly HttpCase[] = [
  ...paths.map(([path, status]) => {
    const headers = { "access-control-allow-origin": "*", "access-control-expose-headers": "age, etag" };
    const expected = { status, headers };
    return httpCase(SECTION, `every origin may read ${path}`, path, expected, {
      headers: { origin: ORIGIN },
    });
  }),
  ...["/dns-query", "/clusters/cluster-a/dns-query"].map((path) => {
    const headers = {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": /\bPOST\b/,
      "access-control-allow-headers": /\bcontent-type\b/,
      "access-control-max-age": /^[1-9]\d*$/,
      "access-control-allow-private-network": null,
    };
    const title = `a preflight allows every origin a POST to ${path}`;
    return httpCase(SECTION, title, path, { status: 204, headers }, options(ORIGIN));
  }),
];

/** With only `ORIGIN` allowed. */
export const listedOriginCases: readonly HttpCase[] = [
  ...paths.flatMap(([path, status]) =>
    [{ origin: ORIGIN }, { origin: "https://evil.example" }, {}].map((headers) => {
      const isListed = "origin" in headers && headers.origin === ORIGIN;
      const expected = {
        vary: /\borigin\b/,
        "access-control-allow-origin": isListed ? ORIGIN : null,
        ...(isListed && { "access-control-expose-headers": "age, etag" }),
      };
      const title = `${JSON.stringify(headers)} ${isListed ? "may" : "may not"} read ${path}`;
      return httpCase(SECTION, title, path, { status, headers: expected }, { headers });
    }),
  ),
  httpCase(
    SECTION,
    "a preflight allows an unlisted origin nothing",
    "/dns-query",
    {
      status: 204,
      headers: { "access-control-allow-origin": null, "access-control-allow-methods": null },
    },
    options("https://evil.example"),
  ),
];
