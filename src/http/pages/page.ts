import { html, raw } from "hono/html";
import { ExtendedError, RecordType, ResponseCode } from "../../dns/codes.ts";
import { STYLE } from "./style.ts";

/** A piece of HTML whose values are escaped. */
export type Html = ReturnType<typeof html>;

/** The parts of one page that differ between pages. */
export interface Page {
  readonly title: string;
  /** The path of its entry in the menu. */
  readonly at?: string;
  readonly body: Html;
  readonly status?: number;
  /** The text of its script. */
  readonly script?: string;
  /** The allowed sources of its images and of its script's requests. */
  readonly images?: readonly string[];
  readonly connections?: readonly string[];
}

const MENU: readonly (readonly [path: string, text: string])[] = [
  ["/", "Look up"],
  ["/services", "Services"],
  ["/clusters", "Clusters"],
  ["/conflicts", "Conflicts"],
  ["/setup", "Set up a client"],
];

/**
 * The response of a page. Its data comes from clusters, so it is untrusted and may be confidential: all values are escaped, only the
 * script with the hash in the policy runs, and nothing is loaded from elsewhere. No frame, no referrer, no shared cache.
 * @param prefix the path prefix of the client: `/tokens/<token>`
 */
export async function pageResponse(page: Page, version: string, prefix = ""): Promise<Response> {
  const { title, at, body, status = 200, script } = page;
  const document = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} · clusterset-doh</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="name">clusterset-doh</p>
<nav aria-label="Pages"><ul>${MENU.map(
    ([path, text]) =>
      html`<li><a href="${path}"${path === at ? raw(' aria-current="page"') : ""}>${text}</a></li>`,
  )}</ul></nav>
</header>
<main id="main">${body}</main>
<footer><p>clusterset-doh ${version}: DNS over HTTPS for a Kubernetes clusterset. <a href="/readyz">Readiness</a></p></footer>
${script === undefined ? "" : html`<script>${raw(script)}</script>`}
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src '${await hashOf(STYLE)}'`,
    `img-src ${["data:", ...(page.images ?? [])].join(" ")}`,
    ...(script === undefined ? [] : [`script-src '${await hashOf(script)}'`]),
    ...(page.connections === undefined ? [] : [`connect-src ${page.connections.join(" ")}`]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return new Response(withPrefix(document.toString(), prefix), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "cache-control": "private, no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Adds the prefix to the paths in attributes. Only our templates contain such attributes: in values quotes are escaped. */
function withPrefix(document: string, prefix: string): string {
  if (prefix === "") return document;
  return document.replace(/( (?:href|action|data-result)=")\//g, (_, attribute) => `${attribute}${prefix}/`);
}

const hashes = new Map<string, Promise<string>>();

/** A hash source (Content Security Policy Level 3 section 2.3.1). */
function hashOf(text: string): Promise<string> {
  const known = hashes.get(text) ?? digest(text);
  hashes.set(text, known);
  return known;
}

async function digest(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

/** A time span: `12 s`, `3 min`, `2 h`, `5 days`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** `1 record`, `2 records`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The name of a response code (IANA DNS Parameters). */
export function nameOfCode(code: number): string {
  return CODE_NAMES.get(code) ?? `RCODE ${code}`;
}

const CODE_NAMES = new Map<number, string>(Object.entries(ResponseCode).map(([name, code]) => [code, name]));

/** A sentence that describes an answer. */
export function describeOutcome(code: number, answers: number, type: string): string {
  switch (code) {
    case ResponseCode.NOERROR:
      return answers > 0
        ? `The name exists: ${counted(answers, "record")}.`
        : `The name exists, but it has no ${type} records (NODATA).`;
    case ResponseCode.NXDOMAIN:
      return "The name does not exist (NXDOMAIN), nor does any name below it.";
    case ResponseCode.REFUSED:
      return "The gateway does not answer this query (REFUSED).";
    case ResponseCode.SERVFAIL:
      return "The gateway cannot answer now (SERVFAIL). Whether the name exists is unknown.";
    case ResponseCode.NOTIMP:
      return "The gateway does not know this kind of query (NOTIMP).";
    case ResponseCode.FORMERR:
      return "The query is malformed (FORMERR).";
    default:
      return `The answer is an error: ${nameOfCode(code)}.`;
  }
}

/** The meaning of an Extended DNS Error (RFC 8914 section 4). */
export function describeExtendedError(code: number): string {
  return EXTENDED_ERRORS.get(code) ?? "see RFC 8914 and IANA's list of Extended DNS Error Codes";
}

const EXTENDED_ERRORS = new Map<number, string>([
  [ExtendedError.OTHER, "another reason, see the text"],
  [ExtendedError.STALE_ANSWER, "stale: a newer answer may exist, but the gateway could not get it"],
  [ExtendedError.NOT_READY, "not ready: no cluster has pushed yet, or every lease has expired"],
  [
    ExtendedError.STALE_NXDOMAIN,
    "a stale negative answer: the name may exist by now, but the gateway could not check",
  ],
  [ExtendedError.NOT_AUTHORITATIVE, "the name is out of the zones of this gateway: query another resolver"],
  [ExtendedError.NOT_SUPPORTED, "the gateway does not support this query"],
  [ExtendedError.NO_REACHABLE_AUTHORITY, "no name server of the name could be reached"],
  [23, "a name server could not be reached"],
]);

/** The flags of an answer's header, each with the meaning of its value. */
export function describeFlags(flags: {
  readonly AA: boolean;
  readonly TC: boolean;
  readonly RD: boolean;
  readonly RA: boolean;
  readonly AD: boolean;
  readonly CD: boolean;
}): readonly (readonly [flag: string, meaning: string])[] {
  return [
    [
      "AA",
      flags.AA
        ? "set: authoritative, from a zone of this gateway"
        : "not set: not from a zone of this gateway",
    ],
    ["TC", flags.TC ? "set: some records did not fit" : "not set: the answer is complete"],
    ["RD", flags.RD ? "set: the query requested recursion" : "not set: the query requested no recursion"],
    ["RA", flags.RA ? "set: the gateway forwards other names" : "not set: the answer needed no recursion"],
    ["AD", flags.AD ? "set: validated by DNSSEC" : "not set: not validated by DNSSEC"],
    ["CD", flags.CD ? "set: the query requested no validation" : "not set"],
  ];
}

/** The name of an RR type; `TYPE<number>` for rare ones (RFC 3597 section 5). */
export function nameOfType(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}

const TYPE_NAMES = new Map<number, string>([
  ...Object.entries(RecordType).map(([name, type]) => [type, name] as const),
  [15, "MX"],
  [257, "CAA"],
]);

/** The path of a service's page. */
function servicePath(namespace: string, name: string): string {
  return `/services/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** A link to a service's page. @param text default: `<namespace>/<name>` */
export function serviceLink(namespace: string, name: string, text = `${namespace}/${name}`): Html {
  return html`<a href="${servicePath(namespace, name)}"><code>${text}</code></a>`;
}

/** A link to a cluster's page. */
export function clusterLink(clusterId: string): Html {
  return html`<a href="/clusters/${encodeURIComponent(clusterId)}"><code>${clusterId}</code></a>`;
}

/** A text that the page's script gives a button to copy it. */
export function copied(text: string): Html {
  return html`<code data-copy>${text}</code>`;
}

/** The page for unknown paths. It shows no part of the request, which may contain a token. */
export function notFoundPage(explanation = "nothing exists at this address"): Page {
  return {
    title: "Not found",
    status: 404,
    body: html`<h1>Not found</h1>
<p>${explanation.charAt(0).toUpperCase()}${explanation.slice(1)}.</p>
<ul>
<li><a href="/">Look up a name</a></li>
<li><a href="/services">Services</a>, <a href="/clusters">clusters</a>, <a href="/conflicts">conflicts and findings</a></li>
<li><a href="/setup">Set up a client</a></li>
</ul>
<p>Programs query <code>/dns-query</code> (DNS over HTTPS) and <code>/resolve</code> (JSON).</p>`,
  };
}
