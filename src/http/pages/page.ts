import { html, raw } from "hono/html";
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
