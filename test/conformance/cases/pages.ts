import { type HttpCase, httpCase } from "../http-case.ts";
import { NAME } from "./doh.ts";
import { getOnlyCases } from "./get-only.ts";

const ZONE = NAME.split(".").slice(-2).join(".");
const [SERVICE_NAME, NAMESPACE] = NAME.split(".");
const SERVICE = `/services/${NAMESPACE}/${SERVICE_NAME}`;
const HTML = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "private, no-cache",
  "content-security-policy": /^default-src 'none'; style-src 'sha256-[^']+'; /,
  "x-content-type-options": "nosniff",
};

/** The start of the Accept field of Chrome, Firefox and Safari. */
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const page = (title: string, path: string, text: string, status = 200, accept?: string): HttpCase =>
  httpCase(
    "docs/how-to/clients.md, pages",
    title,
    path,
    { status, headers: HTML, text },
    accept === undefined ? {} : { headers: { accept } },
  );

const FILES = "docs/how-to/clients.md, files";
const file = (title: string, path: string, contentType: string, text: string): HttpCase =>
  httpCase(FILES, title, path, {
    status: 200,
    headers: {
      "content-type": contentType,
      "cache-control": "private, no-cache",
      "content-disposition": /^attachment; filename="[-\w.]+"$/,
    },
    text,
  });

/** The configured public address of the hosts (`publicUrl`). */
export const PUBLIC_URL = "https://gateway.example";

/** Pages and files of `/setup`, while `cluster-a` and `cluster-b` are live and `NAME` has 10.1.0.1. */
export const pageCases: readonly HttpCase[] = [
  page("the first page shows the alias zone first", "/", `<code>${ZONE}</code>`),
  page("a look-up needs no script", `/?name=${NAME}&type=A`, "The name exists: 1 record."),
  page("a look-up of a type by its number", `/?name=${NAME}&type=16`, "has no TXT records (NODATA)"),
  page("a look-up in a cluster's view", `/?name=${NAME}&view=cluster-a`, "Seen from cluster-a"),
  page("a look-up of a malformed name", "/?name=a..b", "empty label", 400),
  page("a look-up for an unknown cluster", `/?name=${NAME}&view=none`, "no cluster", 400),
  page("services are listed from the generation", "/services", NAME),
  page("services are found by words", "/services?q=WEB", NAME),
  page("a search without matches has a message", "/services?q=nothing-at-all", "No service has a name"),
  page("clusters have the time of the last contact", "/clusters", "Last seen"),
  page("conflicts are listed, or the page names the primary", "/conflicts", "Conflicts and findings"),
  page("a service has a page, with the addresses that DNS answers with", SERVICE, "10.1.0.1"),
  page("a service has a page in a cluster's view", `${SERVICE}?view=cluster-a`, "seen from cluster-a"),
  page("a service that nobody exports is missing", "/services/shop/nothing", "nothing", 404),
  page("a cluster has a page", "/clusters/cluster-a", "Last seen"),
  page("a cluster that never pushed is missing", "/clusters/none", "No cluster with this id", 404),
  page("a client is set up for the alias zone", "/setup", `Set up a client for ${ZONE}`),
  page("a client is set up for another zone", "/setup?zone=clusterset.local", "for clusterset.local"),
  page("a zone that is not served cannot be set up", "/setup?zone=example.org", "does not serve", 404),
  ...[
    ["an unknown path", "/nothing/here", "Not found"],
    ["a path below a page", "/services/shop", "Nothing exists at this address."],
    ["a missing file", "/setup/chromium/other.json", "This file does not exist"],
  ].map(([title, path, text]) => page(`a browser gets a page for ${title}`, path!, text!, 404, BROWSER)),
  ...["*/*", "application/json, text/html", "text/html;q=0"].map((accept): HttpCase => {
    const type = accept.includes("json") ? "application/json" : "text/plain";
    const headers = { "content-type": `${type}; charset=utf-8` };
    return httpCase(
      "RFC 9110 section 15.5.5",
      `an unknown path, for Accept ${accept}`,
      "/nothing/here",
      { status: 404, headers, text: "/dns-query" },
      { headers: { accept } },
    );
  }),
  file(
    "Apple's profile",
    `/setup/apple/${ZONE}.mobileconfig?zone=${ZONE}`,
    "application/x-apple-aspen-config",
    `<string>${PUBLIC_URL}/dns-query</string>`,
  ),
  file(
    "Chromium's policy",
    "/setup/chromium/clusterset-doh.json",
    "application/json; charset=utf-8",
    `"${PUBLIC_URL}/dns-query{?dns}"`,
  ),
  file(
    "CoreDNS's server block",
    `/setup/coredns/Corefile?zone=${ZONE}.`,
    "text/plain; charset=utf-8",
    "tls_servername gateway.example",
  ),
  ...(
    [
      ["missing file", "/setup/chromium/other.json", "this file does not exist"],
      ["unknown client", "/setup/other/file", "this file does not exist"],
      [
        "file for .local, which browsers never query",
        "/setup/chromium/clusterset-doh.json?zone=clusterset.local",
        "RFC 6762",
      ],
      ["file for a listener that is off", "/setup/unbound/clusterset-doh.conf", "--dot"],
    ] as const
  ).map(([title, path, text]) =>
    httpCase(FILES, `404 for a ${title}`, path, {
      status: 404,
      headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
      text,
    }),
  ),
  ...[
    "/",
    "/services",
    SERVICE,
    "/clusters",
    "/clusters/cluster-a",
    "/conflicts",
    "/setup",
    "/setup/curl/curl.sh",
  ].flatMap((path) => getOnlyCases(path)),
];
