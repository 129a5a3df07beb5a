import { expect } from "vitest";
import { type HttpCase, httpCase } from "../http-case.ts";
import { NAME, RECORD } from "./doh.ts";

const DNS = "application/dns-message";
const DNS_JSON = "application/dns-json";
/** JSON for errors, and DNS messages. */
const BOTH = "application/dns-message, application/json";
const JSON_UTF8 = "application/json; charset=utf-8";
const SECTION = "JSON API for DNS over HTTPS (Google, Cloudflare)";

const whole = (seenFrom: string) => ({
  Status: 0,
  TC: false,
  RD: true,
  RA: false,
  AD: false,
  CD: false,
  Question: [{ name: `${NAME}.`, type: 1 }],
  Answer: [{ name: `${NAME}.`, type: 1, TTL: 5, data: "10.1.0.1" }],
  Comment: expect.stringMatching(
    new RegExp(
      `^seen from ${seenFrom}; 2 of 2 clusters live; cluster-[ab] last seen \\d+ s ago; cluster-[ab] last seen \\d+ s ago$`,
    ),
  ),
});

const accepting = (accept: string | undefined) => (accept === undefined ? {} : { headers: { accept } });

const forms: readonly HttpCase[] = (
  [
    ["/resolve", undefined, JSON_UTF8],
    ["/resolve", DNS_JSON, DNS_JSON],
    ["/resolve", "application/json", JSON_UTF8],
    ["/dns-query", DNS_JSON, DNS_JSON],
    ["/dns-query", "text/html,application/xhtml+xml,*/*;q=0.8", JSON_UTF8],
    ["/dns-query", undefined, JSON_UTF8],
    ["/clusters/cluster-a/dns-query", DNS_JSON, DNS_JSON],
    ["/clusters/cluster-a/resolve", undefined, JSON_UTF8],
  ] as const
).map(([path, accept, contentType]) =>
  httpCase(
    SECTION,
    `${path} with Accept ${accept} is ${contentType}`,
    `${path}?name=${NAME}&type=A`,
    {
      status: 200,
      headers: {
        "content-type": contentType,
        "cache-control": "max-age=5",
        vary: /\baccept\b/,
        "x-content-type-options": "nosniff",
      },
      json: whole(path.startsWith("/clusters/") ? "cluster-a" : "outside"),
    },
    accepting(accept),
  ),
);

const encodedForms: readonly HttpCase[] = (
  [
    ["name, at /resolve", `/resolve?n%61me=${NAME}&type=A`],
    ["name, at /dns-query", `/dns-query?%6eame=${NAME}&type=A`],
    ["a name's letter", `/resolve?name=%77${NAME.slice(1)}`],
  ] as const
).map(([title, path]) =>
  httpCase("RFC 3986 section 6.2.2.2", `percent-encoded: ${title}`, path, {
    status: 200,
    headers: { "content-type": JSON_UTF8 },
    json: whole("outside"),
  }),
);

const WIRE = { status: 200, headers: { "content-type": DNS }, dns: { answer: [RECORD] } };
const wireForms: readonly HttpCase[] = [
  httpCase(
    "RFC 9110 section 12.5.1",
    "Accept can request wire format",
    `/dns-query?name=${NAME}`,
    WIRE,
    accepting(DNS),
  ),
  httpCase(SECTION, "ct can request wire format", `/resolve?name=${NAME}&ct=${DNS}`, WIRE),
  httpCase(
    "RFC 9110 section 15.5.7",
    "Accept excludes every form",
    `/resolve?name=${NAME}`,
    { status: 406, headers: { "cache-control": "no-store" } },
    accepting("text/html"),
  ),
];

const types: readonly HttpCase[] = (
  [
    ["", 1],
    ["&type=", 1],
    ["&type=aaaa", 28],
    ["&type=33", 33],
    ["&type=TYPE12", 12],
    ["&type=HTTPS", 65],
    ["&type=65", 65],
    ["&type=ANY", 255],
    ["&type=*", 255],
    ["&type=65535", 65_535],
    ["&type=SRV&type=A", 33],
  ] as const
).map(([search, type]) =>
  httpCase(SECTION, `${JSON.stringify(search)} requests type ${type}`, `/resolve?name=${NAME}${search}`, {
    status: 200,
    jsonWith: { Question: [{ name: `${NAME}.`, type }] },
  }),
);

const names: readonly HttpCase[] = (
  [
    ["with the trailing dot", `${NAME}.`, `${NAME}.`],
    ["keeping its case (RFC 4343)", "WeB.Shop.svc.clusterset.test", "WeB.Shop.svc.clusterset.test."],
    [
      "with an underscore",
      "_http._tcp.web.shop.svc.clusterset.test",
      "_http._tcp.web.shop.svc.clusterset.test.",
    ],
    ["with an escaped dot", "a%5C.b.example", "a\\.b.example."],
    ["with an escaped byte", "a%5C000b.example", "a\\000b.example."],
    ["that is the root", ".", "."],
  ] as const
).map(([title, name, echoed]) =>
  httpCase("RFC 1035 section 5.1", `accepts a name ${title}`, `/resolve?name=${name}`, {
    status: 200,
    jsonWith: { Question: [{ name: echoed, type: 1 }] },
  }),
);

/** Malformed parameters with a part of the error. */
const malformed: readonly HttpCase[] = (
  [
    ["no name", "", "name is missing"],
    ["an empty name", "?name=", "name is missing"],
    ["an empty label", "?name=a..example", "empty label"],
    ["a leading dot", "?name=.example.com", "empty label"],
    ["a label of 64 bytes", `?name=${"a".repeat(64)}.example`, "63"],
    ["a name over 255 bytes", `?name=${"abcdefg.".repeat(40)}example`, "255"],
    ["a Unicode name", "?name=%CE%B5%CE%BB", "A-label"],
    ["a space", "?name=a+b.example", "must not contain"],
    ["a broken escape", "?name=%zz", "percent-encoding"],
    ["an unknown type", "?name=a.example&type=BOGUS", "type"],
    ["dns-packet's own names of types", "?name=a.example&type=UNKNOWN_x", "type"],
    ["type 0", "?name=a.example&type=0", "type"],
    ["type 65536", "?name=a.example&type=65536", "type"],
    ["a negative type", "?name=a.example&type=-1", "type"],
    ["an invalid flag", "?name=a.example&cd=maybe", "cd"],
  ] as const
).map(([title, search, text]) =>
  httpCase(SECTION, `explains ${title}`, `/resolve${search}`, {
    status: 400,
    headers: { "content-type": JSON_UTF8, "cache-control": "no-store" },
    json: { code: "INVALID_QUESTION", message: expect.stringContaining(text) },
  }),
);

/** Other rejections, in the form that the client accepts. */
const refusals: readonly HttpCase[] = (
  [
    ["the DNS resource without a query", "GET", "/dns-query", undefined, 400, undefined],
    ["the DNS resource without a query", "GET", "/dns-query", DNS_JSON, 400, "QUERY_MISSING"],
    ["a malformed name", "GET", "/resolve?name=a..example", "text/html, */*;q=0.8", 400, undefined],
    ["JSON at the DNS resource", "GET", "/dns-query?name=a..example", undefined, 400, "INVALID_QUESTION"],
    [
      "an explanation of a malformed name",
      "GET",
      "/explain?name=a..example",
      undefined,
      400,
      "INVALID_QUESTION",
    ],
    ["wire format that is not base64url", "GET", "/dns-query?dns=$", "*/*", 400, undefined],
    ["wire format that is not base64url", "GET", "/dns-query?dns=$", BOTH, 400, "INVALID_QUERY"],
    ["wire format that is no query", "GET", "/dns-query?dns=AAAA", BOTH, 400, "INVALID_QUERY"],
    ["a method that JSON does not have", "POST", "/resolve?name=a", undefined, 405, "METHOD_NOT_ALLOWED"],
    ["a method that explanations do not have", "POST", "/explain", undefined, 405, "METHOD_NOT_ALLOWED"],
    ["an unknown cluster", "GET", `/clusters/none/resolve?name=${NAME}`, "*/*", 404, "NOT_FOUND"],
  ] as const
).map(([title, method, path, accept, status, code]) =>
  httpCase(
    SECTION,
    `${title} is rejected in ${code === undefined ? "text" : "JSON"} with Accept ${accept}`,
    path,
    {
      status,
      headers: { "content-type": code === undefined ? "text/plain; charset=utf-8" : JSON_UTF8 },
      ...(code !== undefined && { jsonWith: { code } }),
    },
    { method, ...accepting(accept) },
  ),
);

/** Parameters of Google's form without effect here. */
const ignored: readonly HttpCase[] = ["edns_client_subnet=192.0.2.0/24", "random_padding=XmkMw", "v=2"].map(
  (parameter) =>
    httpCase(SECTION, `${parameter} has no effect`, `/resolve?name=${NAME}&${parameter}`, {
      status: 200,
      json: whole("outside"),
    }),
);

const methods: readonly HttpCase[] = ["/resolve", "/explain", "/clusters/cluster-a/resolve"].flatMap((path) =>
  (
    [
      ["HEAD", 200],
      ["POST", 405],
      ["PUT", 405],
      ["OPTIONS", 204],
    ] as const
  ).map(([method, status]) => {
    const expected = { status, headers: { allow: status === 200 ? null : "GET, HEAD, OPTIONS" } };
    return httpCase(
      "RFC 9110 sections 9.3.2 and 15.5.6",
      `${method} ${path}`,
      `${path}?name=${NAME}`,
      expected,
      {
        method,
      },
    );
  }),
);

/** The JSON forms, where `NAME` has `RECORD`, and `cluster-a` and `cluster-b` are live. */
export const jsonCases: readonly HttpCase[] = [
  ...forms,
  ...encodedForms,
  ...wireForms,
  ...types,
  ...names,
  ...malformed,
  ...refusals,
  ...ignored,
  ...methods,
  httpCase(SECTION, "CD is echoed", `/resolve?name=${NAME}&cd=1&do=true`, {
    status: 200,
    jsonWith: { CD: true, RD: true },
  }),
];
