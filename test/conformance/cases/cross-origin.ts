import { base64url, query } from "../../http/fake-gateway.ts";
import type { HttpCase } from "../http-case.ts";
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

/** Without configured origins. */
export const closedOriginCases: readonly HttpCase[] = [
  ...paths.map(([path, status]) => ({
    section: "docs/reference/http-api.md, Cross-origin requests",
    title: `no foreign origin may read ${path}`,
    path,
    headers: { origin: ORIGIN },
    expected: { status, headers: NOTHING },
  })),
  ...["/dns-query", "/resolve", "/clusters/cluster-a/dns-query"].map((path) => ({
    section: "docs/reference/http-api.md, Cross-origin requests",
    title: `a preflight for ${path} allows nothing`,
    method: "OPTIONS",
    path,
    headers: { ...preflight(ORIGIN), "access-control-request-private-network": "true" },
    expected: { status: 204, headers: NOTHING },
  })),
];

/** Resources that no web page may read with any configuration. */
export const neverReadableCases: readonly HttpCase[] = [
  ...(["GET", "PUT", "OPTIONS"] as const).map((method) => ({ method, path: "/api/v1/clusters/cluster-a" })),
  { method: "GET", path: "/api/v1/transfer/state" },
  { method: "GET", path: "/api/v1/nowhere" },
  { method: "GET", path: "/federations/one" },
].map(({ method, path }) => ({
  section: "docs/reference/http-api.md, Cross-origin requests",
  title: `${method} ${path} is not readable by pages of other origins`,
  method,
  path,
  headers: { ...preflight(ORIGIN) },
  expected: { headers: NOTHING },
}));

/** With all origins allowed. */
export const crossOriginCases: readonly HttpCase[] = [
  ...paths.map(([path, status]) => ({
    section: SECTION,
    title: `every origin may read ${path}`,
    path,
    headers: { origin: ORIGIN },
    expected: {
      status,
      headers: { "access-control-allow-origin": "*", "access-control-expose-headers": "age, etag" },
    },
  })),
  ...["/dns-query", "/clusters/cluster-a/dns-query"].map((path) => ({
    section: `${SECTION}, preflight`,
    title: `a preflight allows every origin a POST to ${path}`,
    method: "OPTIONS",
    path,
    headers: preflight(ORIGIN),
    expected: {
      status: 204,
      headers: {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": /\bPOST\b/,
        "access-control-allow-headers": /\bcontent-type\b/,
        "access-control-max-age": /^[1-9]\d*$/,
        "access-control-allow-private-network": null,
      },
    },
  })),
];

/** With only `ORIGIN` allowed. */
export const listedOriginCases: readonly HttpCase[] = [
  ...paths.flatMap(([path, status]) => [
    {
      section: SECTION,
      title: `a listed origin may read ${path}`,
      path,
      headers: { origin: ORIGIN },
      expected: {
        status,
        headers: {
          "access-control-allow-origin": ORIGIN,
          "access-control-expose-headers": "age, etag",
          vary: /\borigin\b/,
        },
      },
    },
    ...[{ origin: "https://evil.example" }, {}].map((headers) => ({
      section: SECTION,
      title: `${JSON.stringify(headers)} may not read ${path}`,
      path,
      headers,
      expected: { status, headers: { "access-control-allow-origin": null, vary: /\borigin\b/ } },
    })),
  ]),
  {
    section: `${SECTION}, preflight`,
    title: "a preflight allows an unlisted origin nothing",
    method: "OPTIONS",
    path: "/dns-query",
    headers: preflight("https://evil.example"),
    expected: {
      status: 204,
      headers: { "access-control-allow-origin": null, "access-control-allow-methods": null },
    },
  },
];
