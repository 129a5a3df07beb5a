import { base64url, query } from "../../http/fake-gateway.ts";
import { type CaseBody, type CaseResponse, type HttpCase, httpCase } from "../http-case.ts";

/** The name in all tables of HTTP. */
export const NAME = "web.shop.svc.clusterset.test";
/** Its record. */
export const RECORD = `${NAME} 5 A 10.1.0.1`;

const DNS = "application/dns-message";
const ALLOW = "GET, HEAD, POST, OPTIONS";
const wire = `/dns-query?dns=${base64url(query(NAME))}`;
const answered: CaseResponse = {
  status: 200,
  headers: { "content-type": DNS, "cache-control": "max-age=5", "content-length": /^[1-9]\d*$/ },
  dns: { id: 0, rcode: "NOERROR", answer: [RECORD] },
};
const TEXT_UTF8 = "text/plain; charset=utf-8";
const JSON_UTF8 = "application/json; charset=utf-8";
const refused = (status: number, contentType = TEXT_UTF8): CaseResponse => ({
  status,
  headers: { "content-type": contentType, "cache-control": "no-store" },
});

/** A query with zeros up to a size. */
export function sized(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  bytes.set(query(NAME));
  return bytes;
}

/** Every character as its percent-encoding. */
function percentEncoded(text: string): string {
  return text.replace(/./g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A body without Content-Length. */
export function streamed(bytes: Uint8Array): () => ReadableStream<Uint8Array> {
  return () =>
    new ReadableStream({
      start: (controller) => {
        for (let at = 0; at < bytes.length; at += 1000) controller.enqueue(bytes.subarray(at, at + 1000));
        controller.close();
      },
    });
}

const get = (title: string, path: string, expected: CaseResponse, accept?: string): HttpCase => ({
  section: "RFC 8484 section 4.1, GET",
  title,
  path,
  ...(accept !== undefined && { headers: { accept } }),
  expected,
});
const post = (
  title: string,
  expected: CaseResponse,
  headers: Record<string, string> = {},
  body: CaseBody = query(NAME),
  path = "/dns-query",
): HttpCase => ({
  section: "RFC 8484 section 4.1, POST",
  title,
  method: "POST",
  path,
  headers: { "content-type": DNS, ...headers },
  body,
  expected,
});

const short = base64url(query("a.bc"));
const RESPONSE = base64url(Uint8Array.from({ length: 12 }, (_, at) => (at === 2 ? 0x80 : 0)));

const getCases: readonly HttpCase[] = [
  get("a query in ?dns=", wire, answered, DNS),
  get("Accept is missing", wire, answered),
  get("Accept is */*, as from curl", wire, answered, "*/*"),
  get("Accept is empty, as possible from Firefox", wire, answered, ""),
  get("Accept is application/*", wire, answered, "application/*"),
  get("Accept has a parameter", wire, answered, "application/dns-message;q=0.5"),
  get("Accept is in upper case", wire, answered, "Application/DNS-Message"),
  get("Accept has it among others", wire, answered, "text/html, application/dns-message;q=0.1"),
  ...[
    "text/html",
    "application/dns-json",
    "application/dns-message;q=0",
    "*/*, application/dns-message; q=0.0",
  ].map((accept) => ({
    ...get(
      `Accept: ${accept} excludes it`,
      wire,
      refused(406, accept === "application/dns-json" ? JSON_UTF8 : TEXT_UTF8),
      accept,
    ),
    section: "RFC 9110 section 12.5.1",
  })),
  get("no dns parameter", "/dns-query", refused(400)),
  get("only another parameter", "/dns-query?body_hash=abc", refused(400)),
  get("an empty parameter", "/dns-query?dns=", refused(400)),
  get("plain base64", "/dns-query?dns=AA%2BA", refused(400)),
  get("a character outside the alphabet", "/dns-query?dns=AA*A", refused(400)),
  get("less than a header", "/dns-query?dns=AAABAAABAAAAAAA", refused(400)),
  get("a response", `/dns-query?dns=${RESPONSE}`, refused(400)),
  ...["%zz", "%", "%4", "AAAA%"].map((value) =>
    get(`malformed percent-encoding (${value})`, `/dns-query?dns=${value}`, {
      ...refused(400),
      text: "malformed percent-encoding",
    }),
  ),
  get("padding", `/dns-query?dns=${short}==`, { status: 200 }),
  get("padding, encoded", `/dns-query?dns=${short}%3D%3D`, { status: 200 }),
  get("other parameters around it", `/dns-query?x=1&dns=${base64url(query(NAME))}&y`, answered),
  ...[
    ["the whole value", `dns=${percentEncoded(base64url(query(NAME)))}`],
    ["one character of the value", `dns=%41${base64url(query(NAME)).slice(1)}`],
    ["the name", `d%6Es=${base64url(query(NAME))}`],
    ["the name, in lower-case hexadecimal", `x%3D&%64%6e%73=${base64url(query(NAME))}&y`],
    ["both", `%64ns=${percentEncoded(base64url(query(NAME)))}`],
    ["the name, next to a parameter with a malformed encoding", `%zz=1&dn%73=${base64url(query(NAME))}`],
  ].map(([title, search]) => ({
    ...get(`percent-encoded: ${title}`, `/dns-query?${search}`, answered),
    section: "RFC 3986 section 6.2.2.2",
  })),
  ...["/dns%2Dquery", "/dns%2dquery", "/%64ns-quer%79", "/%64%6E%73%2D%71%75%65%72%79"].map((path) => ({
    ...get(`the path, percent-encoded: ${path}`, `${path}?dns=${base64url(query(NAME))}`, answered),
    section: "RFC 3986 section 6.2.2.2",
  })),
  ...["/dns%252Dquery", "/dns-query%00", "/dns%2query", "/%2Fdns-query"].map((path) => ({
    ...get(`another path: ${path}`, `${path}?dns=${base64url(query(NAME))}`, refused(404)),
    section: "RFC 3986 section 2.2",
  })),
  get("the first of two parameters", `/dns-query?dns=${base64url(query(NAME))}&dns=AAAA`, answered),
  get("the ID of dnscrypt-proxy's probe is echoed", `/dns-query?dns=${base64url(query(NAME, "A", 0xcafe))}`, {
    ...answered,
    dns: { id: 0xcafe, answer: [RECORD] },
  }),
  {
    section: "RFC 9110 section 9.3.2, HEAD",
    title: "GET's fields",
    method: "HEAD",
    path: wire,
    expected: { status: 200, headers: answered.headers! },
  },
  {
    section: "RFC 9110 section 12.5.3",
    title: "a client that accepts gzip, like CoreDNS, gets the message uncompressed",
    path: wire,
    headers: { "accept-encoding": "gzip" },
    expected: { ...answered, headers: { ...answered.headers, "content-encoding": null } },
  },
];

const postCases: readonly HttpCase[] = [
  post("a query in the body", answered),
  post(
    "parameters are ignored: dnscrypt-proxy adds ?body_hash=",
    answered,
    {},
    query(NAME),
    "/dns-query?body_hash=x&name=ignored.example",
  ),
  post("Content-Type in upper case", answered, { "content-type": "Application/DNS-Message" }),
  post("Content-Type with a parameter", answered, {
    "content-type": "application/dns-message; charset=utf-8",
  }),
  ...["application/json", "text/plain", "application/x-www-form-urlencoded", ""].map((type) => ({
    ...post(
      `Content-Type ${JSON.stringify(type)}`,
      { status: 415, headers: { "accept-post": DNS } },
      { "content-type": type },
    ),
    section: "RFC 9110 section 15.5.16",
  })),
  ...["gzip", "br", "identity, gzip", "GZIP", "unknown"].map((coding) => ({
    ...post(
      `Content-Encoding ${coding}`,
      { ...refused(415), headers: { "accept-encoding": "identity", "cache-control": "no-store" } },
      { "content-encoding": coding },
    ),
    section: "RFC 9110 section 12.5.3",
  })),
  ...["identity", "Identity", ""].map((coding) => ({
    ...post(`Content-Encoding ${JSON.stringify(coding)} changes nothing`, answered, {
      "content-encoding": coding,
    }),
    section: "RFC 9110 section 8.4",
  })),
  post("Accept excludes it", refused(406), { accept: "text/html" }),
  post("an empty body", refused(400), {}, new Uint8Array()),
  post("less than a header", refused(400), {}, new Uint8Array(11)),
  // A query with extra zeros is FORMERR in DNS, and a success in HTTP.
  post("65,535 bytes", { status: 200 }, {}, sized(65_535)),
  post("65,536 bytes", refused(413), {}, sized(65_536)),
  post("65,535 bytes without Content-Length", { status: 200 }, {}, streamed(sized(65_535))),
  post("65,536 bytes without Content-Length", refused(413), {}, streamed(sized(65_536))),
];

const otherCases: readonly HttpCase[] = [
  ...["PUT", "PATCH", "DELETE", "PROPFIND"].map((method) => {
    const expected = { status: 405, headers: { allow: ALLOW } };
    return httpCase("RFC 9110 section 15.5.6", `${method} is not allowed`, "/dns-query", expected, {
      method,
    });
  }),
  httpCase(
    "RFC 9110 section 9.3.7",
    "OPTIONS has the methods in Allow",
    "/dns-query",
    { status: 204, headers: { allow: ALLOW } },
    { method: "OPTIONS" },
  ),
  ...["dns-query", "resolve"].map((path) =>
    httpCase(
      "docs/reference/names-and-records.md, views by path",
      `404 for an unknown cluster id (${path})`,
      `/clusters/cluster-z/${path}?name=a.example`,
      { ...refused(404, JSON_UTF8), text: "no cluster with this id" },
    ),
  ),
  httpCase("RFC 9110 section 15.5.5", "any other path is a 404 with the existing paths", "/dns", {
    ...refused(404),
    text: "/dns-query",
  }),
];

/** The DNS resource by HTTP (RFC 8484), where `NAME` has `RECORD` and `cluster-z` never pushed. */
export const dohCases: readonly HttpCase[] = [...getCases, ...postCases, ...otherCases];

/** The same with queries of at most 512 bytes. */
export const shortQueryCases: readonly HttpCase[] = [[512, 200] as const, [513, 414] as const].map(
  ([size, status]) =>
    httpCase(
      "RFC 9110 section 15.5.15",
      `${size} bytes in ?dns=`,
      `/dns-query?dns=${base64url(sized(size))}`,
      {
        status,
      },
    ),
);
