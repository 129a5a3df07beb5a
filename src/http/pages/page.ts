import { html, raw } from "hono/html";
import { RecordType, ResponseCode } from "../../dns/name.ts";
import type { Suggestion } from "../../explain/explanation.ts";

/** A piece of HTML whose values are escaped. */
export type Html = ReturnType<typeof html>;

/** The parts of one page that differ between pages. */
export interface Page {
  readonly title: string;
  /** The path of its entry in the menu. */
  readonly at?: string;
  readonly body: Html;
  readonly status?: number;
}

const MENU: readonly (readonly [path: string, text: string])[] = [
  ["/", "Look up"],
  ["/services", "Services"],
  ["/clusters", "Clusters"],
  ["/conflicts", "Conflicts"],
  ["/setup", "Set up a client"],
];

/**
 * The response of a page. Its data comes from clusters, so it is untrusted and may be confidential: all
 * values are escaped, only the script with the hash in the policy runs, and nothing is loaded from elsewhere.
 * No frame, no referrer, no shared cache.
 * @param prefix the path prefix of the client: `/tokens/<token>`
 */
export async function pageResponse(page: Page, version: string, prefix = ""): Promise<Response> {
  const { title, at, body, status = 200 } = page;
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
<script>${raw(PAGE_SCRIPT)}</script>
</body>
</html>
`;
  policy ??= makePolicy();
  return new Response(withPrefix(document.toString(), prefix), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": await policy,
      "cache-control": "private, no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

/**
 * Adds the prefix to the paths in attributes. Only our templates contain such attributes: in values quotes
 * are escaped.
 */
function withPrefix(document: string, prefix: string): string {
  if (prefix === "") return document;
  return document.replace(/( (?:href|action)=")\//g, (_, attribute) => `${attribute}${prefix}/`);
}

/** The same for every page, so it is made once. */
let policy: Promise<string> | undefined;

async function makePolicy(): Promise<string> {
  return [
    "default-src 'none'",
    `style-src '${await hashOf(STYLE)}'`,
    "img-src data:",
    `script-src '${await hashOf(PAGE_SCRIPT)}'`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** A hash source (Content Security Policy Level 3 section 2.3.1). */
async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

/** A time span: `12 s`, `3 min`, `2 h`, `5 days`. */
export function duration(milliseconds: number): string {
  const seconds = wholeSeconds(milliseconds);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** A time span in whole seconds; 0 for one that has ended. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 1000));
}

/** `a, b and 3 more`. @param total the number of names with those that are not given */
export function someOf(names: readonly string[], most: number, total = names.length): string {
  const shown = names.slice(0, most);
  const rest = total - shown.length;
  return `${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** `1 record`, `2 records`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Orders as people do: `node-2` before `node-10`. */
export const natural: (one: string, other: string) => number = COLLATOR.compare;

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
export function servicePath(namespace: string, name: string): string {
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

/** The options of a field. */
export function options(all: readonly string[], chosen: string): Html[] {
  return all.map((one) => html`<option${one === chosen ? raw(" selected") : ""}>${one}</option>`);
}

/** With more clusters a form has a text field instead of a list. */
const MOST_CHOICES = 50;

/** The field of a form for a view. @param view a cluster id; empty for outside */
export function viewField(label: string, view: string, clusters: readonly string[]): Html {
  const views = view === "" || clusters.includes(view) ? clusters : [...clusters, view];
  return html`<div><label for="view">${label}</label>
${
  views.length > MOST_CHOICES
    ? html`<input id="view" name="view" value="${view}" placeholder="outside, or a cluster id" autocapitalize="none" spellcheck="false">`
    : html`<select id="view" name="view"><option value="">outside the clusters</option>${options(views, view)}</select>`
}</div>`;
}

/** Names that were perhaps meant, with links to look them up. @param search parameters beside the name */
export function suggestionList(
  suggestions: readonly Suggestion[],
  search: Readonly<Record<string, string>> = {},
): Html | string {
  if (suggestions.length === 0) return "";
  return html`<p>Did you mean:</p>
<ul>${suggestions.map(
    ({ name, because }) =>
      html`<li><a href="/?${new URLSearchParams({ name, ...search }).toString()}#answer"><code>${name}</code></a>: ${because}</li>`,
  )}</ul>`;
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

/** The style of every page. Colours keep a contrast of 4.5 to 1 (WCAG 2.2 section 1.4.3), light and dark. */
const STYLE = `
:root{color-scheme:light dark;--text:#1b1f24;--soft:#57606a;--page:#fff;--box:#f4f6f8;--line:#d0d7de;--link:#0757b8;--good:#116329;--bad:#b3140f}
@media (prefers-color-scheme:dark){:root{--text:#e6e9ed;--soft:#a3adb8;--page:#12161b;--box:#1c2229;--line:#3a434d;--link:#7db8ff;--good:#6fdd8b;--bad:#ff9a8f}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1rem}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem 1.5rem;padding-top:1rem;padding-bottom:.75rem;border-bottom:1px solid var(--line)}
.name{font-weight:700;font-size:1.15rem;margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:0 1rem;list-style:none;margin:0;padding:0}
nav a{display:inline-block;padding:.35rem 0}
nav a[aria-current]{color:inherit;font-weight:600;text-decoration-thickness:3px}
footer{color:var(--soft);border-top:1px solid var(--line);margin-top:3rem;padding-top:.75rem;padding-bottom:2rem}
a{color:var(--link);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.5rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.5rem 0 .5rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.5rem 0 .5rem}
h3{font-size:1rem;margin:1.25rem 0 .25rem}
p{margin:.5rem 0;max-width:45rem}
.soft,.hint{color:var(--soft)}
.hint{font-size:.9rem}
.good{color:var(--good);font-weight:600}
.bad{color:var(--bad);font-weight:600}
.badge{display:inline-block;font-size:.8125rem;font-weight:600;line-height:1.5;padding:0 .4rem;border:1px solid currentColor;border-radius:.3rem;white-space:nowrap}
.grid th{font-weight:400}
.grid th[scope=row]{min-width:14rem}
.grid th p{margin:0;font-size:.875rem}
.lanes{display:block;width:45rem;height:auto;margin:.5rem;font-size:12px}
.lanes text{fill:var(--text)}
.lanes line{stroke:var(--line)}
.lanes .push{fill:var(--good)}
.lanes .loss{fill:var(--bad)}
.note{border-left:4px solid var(--bad);background:var(--box);padding:.5rem .75rem;max-width:45rem}
.verdict{font-size:1.1rem}
form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin:1rem 0}
label{display:block;font-weight:600;margin-bottom:.2rem}
input,select,button{font:inherit;color:inherit;background:var(--page);border:1px solid var(--soft);border-radius:.3rem;padding:.5rem .6rem;min-height:2.75rem;max-width:100%}
.wide{flex:1 1 20rem}
.wide input{width:100%}
button{background:var(--link);border-color:var(--link);color:var(--page);font-weight:600;padding:.5rem 1.1rem;cursor:pointer}
button.copy,.refresh button{background:var(--box);border-color:var(--line);color:var(--link);min-height:1.75rem;padding:.1rem .6rem;font-size:.875rem;width:auto}
.refresh{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;margin:1rem 0;color:var(--soft);font-size:.9rem;max-width:none}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
code,pre{font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
h1 code,h2 code,.entry code{font-size:1em}
pre{background:var(--box);border:1px solid var(--line);border-radius:.3rem;padding:.6rem .75rem;margin:.35rem 0;overflow-x:auto;max-height:30rem;white-space:pre}
.sheet{overflow-x:auto;border:1px solid var(--line);border-radius:.3rem}
table{border-collapse:collapse;width:100%}
caption{text-align:left;padding:.4rem .6rem;color:var(--soft)}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-top:1px solid var(--line)}
td{white-space:nowrap}
.prose td{white-space:normal}
.prose td:nth-child(4){min-width:23rem}
time{white-space:nowrap}
.number{text-align:right;font-variant-numeric:tabular-nums}
.names>li{display:grid;grid-template-columns:minmax(0,1.2fr) 5rem 1fr auto;gap:.15rem .75rem;align-items:center}
.names .copy{justify-self:start}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:0 1.5rem}
.facts ul{margin:.25rem 0;padding-left:1.25rem}
.list{list-style:none;padding:0;margin:.5rem 0}
.list>li{padding:.5rem 0;border-top:1px solid var(--line)}
.list p{margin:.1rem 0;max-width:none}
.entry{font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}
dt{font-weight:600}
dd{margin:0;min-width:0}
details{border:1px solid var(--line);border-radius:.3rem;margin:.5rem 0}
details>summary{cursor:pointer;padding:.6rem .75rem;font-weight:600}
details>div{padding:0 .75rem .75rem}
details ul{margin:.25rem 0;padding-left:1.5rem}
.pages{display:flex;gap:1rem;margin:.75rem 0}
@media (max-width:40rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}.wide{flex-basis:100%}form button{width:100%}td:first-child{white-space:normal;min-width:12rem}.names>li{display:flex;flex-wrap:wrap}.names code{flex-basis:100%}}
`;

/** The time between two refreshes of a page, in seconds. */
const REFRESH_SECONDS = 10;

/** A part of a page that the script replaces by its newest state, until a person stops that. */
export function refreshed(content: Html): Html {
  return html`<div data-refresh="${REFRESH_SECONDS}">${content}</div>`;
}

/**
 * Adds a button to every text that has `data-copy`, and replaces the part that has `data-refresh`: not in a
 * hidden tab, not while something in it has the focus or is selected, and only on demand for those who prefer
 * reduced motion. Without the script a page has neither, and is complete.
 */
const PAGE_SCRIPT = `
const make = (name, text, at) => {
  const element = document.createElement(name);
  element.textContent = text;
  at(element);
  return element;
};
const announced = make("p", "", (line) => document.body.append(line));
announced.className = "unseen";
announced.setAttribute("role", "status");
const copy = async (code, button) => {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = announced.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; announced.textContent = ""; }, 2000);
  } catch {
    getSelection().selectAllChildren(code);
    announced.textContent = "Selected: copy it with the keyboard";
  }
};
const addCopyButtons = (root) => {
  for (const code of root.querySelectorAll("[data-copy]")) {
    const button = make("button", "Copy", (made) => code.after(" ", made));
    button.type = "button";
    button.className = "copy";
    button.setAttribute("aria-label", "Copy " + (code.dataset.copy || code.textContent));
    button.onclick = () => copy(code, button);
  }
};
addCopyButtons(document);
const part = document.querySelector("[data-refresh]");
if (part) {
  const seconds = Number(part.dataset.refresh);
  const line = make("p", "", (made) => part.before(made));
  line.className = "refresh";
  const button = make("button", "", (made) => line.append(made));
  button.type = "button";
  const note = make("span", "", (made) => line.append(made));
  let isOn = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  try { isOn = (sessionStorage.getItem("refresh") ?? (isOn ? "on" : "off")) === "on"; } catch {}
  let timer;
  const isInUse = () => {
    const selection = getSelection();
    return part.contains(document.activeElement) || (!selection.isCollapsed && part.contains(selection.anchorNode));
  };
  const refresh = async () => {
    if (isInUse()) { note.textContent = "Waits while something below has the focus or is selected."; return; }
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const newest = page.querySelector("[data-refresh]");
      if (!newest) throw new Error(response.ok ? "load the page again" : "the gateway answered with status " + response.status);
      if (!isOn || isInUse()) return;
      addCopyButtons(newest);
      for (const details of part.querySelectorAll("details[open]")) {
        const same = [...newest.querySelectorAll("details")].find((one) => one.firstChild.textContent === details.firstChild.textContent);
        if (same) same.open = true;
      }
      part.replaceChildren(...newest.childNodes);
      note.textContent = "Refreshed at " + new Date().toLocaleTimeString() + ".";
    } catch (error) {
      note.textContent = "Not refreshed: " + error.message + ".";
    }
  };
  const plan = () => {
    clearInterval(timer);
    button.textContent = isOn ? "Stop refreshing" : "Refresh every " + seconds + " s";
    if (isOn && !document.hidden) timer = setInterval(refresh, seconds * 1000);
  };
  if (isOn) note.textContent = "This page refreshes every " + seconds + " s.";
  button.onclick = () => {
    isOn = !isOn;
    try { sessionStorage.setItem("refresh", isOn ? "on" : "off"); } catch {}
    note.textContent = isOn ? "" : "Stopped.";
    plan();
    if (isOn) refresh();
  };
  document.addEventListener("visibilitychange", () => {
    plan();
    if (isOn && !document.hidden) refresh();
  });
  plan();
}
`;
