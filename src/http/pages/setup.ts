import type { Context } from "hono";
import { html } from "hono/html";
import type { PageParts } from "../doh/rule-answers.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { FetchRequest, prefersHtml } from "../messages/message.ts";
import { type ClientSetup, clientsFor } from "../setup/clients.ts";
import { readSetupFacts, SetupError, type SetupFacts } from "../setup/facts.ts";
import { exampleIn, FIRST_SERVICES } from "./directory.ts";
import { withSession } from "./login.ts";
import { copied, type Html, notFoundPage, options, type Page } from "./page.ts";

type SetupContext = Context<AppEnvironment>;

/** `/setup`: how to make each client query this gateway for a zone, which is that of `?zone=`. */
export async function setupPage(parts: PageParts, c: SetupContext): Promise<Page> {
  try {
    const request = new FetchRequest(c.req.raw, c.env.client);
    const hasToken = request.header("authorization") !== null || withSession(request) !== undefined;
    return await pageFor(await readFacts(c, parts), parts, hasToken && !parts.isPublic);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return cannotBeSetUp(error.message, parts.zones);
  }
}

/** `/setup/<client>/<file>`, for the zone of `?zone=`. */
export async function setupFile(parts: PageParts, c: SetupContext): Promise<Page | Response> {
  const { client: id, file: name } = c.req.param();
  try {
    const clients = await clientsFor(await readFacts(c, parts));
    const { lacks, files = {} } = clients.find((one) => one.id === id) ?? {};
    if (lacks !== undefined) return missing(c, lacks);
    const text = Object.entries(files).find(([fileName]) => fileName === name)?.[1];
    return text === undefined ? missing(c, NO_FILE) : download(name!, text);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return missing(c, error.message);
  }
}

const NO_FILE = "this file does not exist; /setup lists the files";

/** The file name of the gateway's certificate, for clients that need it. */
export const CERTIFICATE_FILE = "certificate.crt";

/** `/setup/certificate/certificate.crt` */
export function certificateFile({ gatewayAddresses }: PageParts, c: SetupContext): Page | Response {
  const text = gatewayAddresses?.().certificate;
  return text === undefined
    ? missing(c, "this gateway's certificate is not self-signed: clients need no file to trust it")
    : download(CERTIFICATE_FILE, text);
}

/** The error for a missing file: a page for browsers. */
function missing(c: SetupContext, text: string): Page | Response {
  if (prefersHtml(c.req.header("accept") ?? null)) return notFoundPage(text);
  return c.body(`${text}\n`, 404, {
    "content-type": PLAIN_TEXT,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
}

/** @throws {SetupError} for a zone that is not served, or an address that clients cannot use */
async function readFacts(c: SetupContext, parts: PageParts): Promise<SetupFacts> {
  const { zones, publicUrl } = parts;
  const zone = (c.req.query("zone") ?? zones[0]!).replace(/\.$/, "").toLowerCase();
  if (!zones.includes(zone))
    throw new SetupError(`this gateway does not serve that zone: choose ${zones.join(" or ")}`);
  const { urlToken } = c.env;
  const { certificate, ...addresses } = parts.gatewayAddresses?.() ?? {};
  return readSetupFacts({
    ...addresses,
    // A token in the host name is part of the address.
    url: urlToken?.prefix === "" ? c.req.url : (publicUrl ?? c.req.url),
    prefix: urlToken?.prefix,
    zone,
    example: exampleIn(await parts.directory.services(FIRST_SERVICES), zone),
    isSelfSigned: certificate !== undefined,
  });
}

function cannotBeSetUp(message: string, zones: readonly string[]): Page {
  return {
    title: "Set up a client",
    at: "/setup",
    status: 404,
    body: html`<h1>Set up a client</h1>
<p class="note">This page cannot make a file: ${message}.</p>
<ul>${zones.map((zone) => html`<li><a href="/setup?zone=${encodeURIComponent(zone)}">${zone}</a></li>`)}</ul>`,
  };
}

const PLAIN_TEXT = "text/plain; charset=utf-8";
/** By the end of a file's name. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  crt: "application/x-pem-file",
  json: "application/json; charset=utf-8",
  mobileconfig: "application/x-apple-aspen-config",
  yaml: "application/yaml; charset=utf-8",
};

function download(fileName: string, text: string): Response {
  return new Response(text, {
    headers: {
      "content-type": CONTENT_TYPES[fileName.split(".").at(-1)!] ?? PLAIN_TEXT,
      "content-disposition": `attachment; filename="${fileName}"`,
      // Its text depends on the Host field, which the sender of the request chooses.
      "cache-control": "private, no-cache",
      "x-content-type-options": "nosniff",
    },
  });
}

/** @param filesLackToken whether the reader was admitted by a token that no file has */
async function pageFor(
  facts: SetupFacts,
  { zones, publicUrl }: PageParts,
  filesLackToken: boolean,
): Promise<Page> {
  const { zone, resource, origin, prefix, example } = facts;
  const json = `${origin}${prefix}/resolve?name=${encodeURIComponent(example.name)}&type=${example.type}`;
  const groups = Object.entries(Object.groupBy(await clientsFor(facts), ({ group }) => group));
  return {
    title: `Set up a client for ${zone}`,
    at: "/setup",
    body: html`<h1>Set up a client for ${zone}</h1>
${zoneForm(zones, zone)}
${filesLackToken ? html`<p class="note">You opened this page with a token that these files do not have, so their queries are rejected: open it with a token in the path or the host name.</p>` : ""}
<dl>
<dt>DNS over HTTPS</dt><dd>${copied(resource)}</dd>
<dt>As a URI template</dt><dd><code>${resource}{?dns}</code></dd>
<dt>JSON</dt><dd><a href="${json}"><code>${json}</code></a></dd>
${facts.dot === undefined ? "" : html`<dt>DNS over TLS</dt><dd>${port(facts.dot)}</dd>`}
${facts.dns === undefined ? "" : html`<dt>Plain DNS</dt><dd>${port(facts.dns)}</dd>`}
</dl>
${publicUrl === undefined ? html`<p class="hint">The address is that of this request. If clients reach the gateway at another one, set publicUrl in its configuration.</p>` : ""}
${groups.map(
  ([group, clients = []]) => html`<h2>${group}</h2>
${clients.map((client) => clientDetails(client, zone))}`,
)}
${
  facts.isSelfSigned
    ? html`<h2>The certificate</h2>
<p>This gateway's certificate is self-signed. Clients must trust it: <a href="${fileUrl("certificate", CERTIFICATE_FILE, zone)}">${CERTIFICATE_FILE}</a>. Compare it with the gateway's file (tls/self-signed.crt in its state folder): an attacker between you and the gateway could replace it here.</p>`
    : ""
}`,
  };
}

function zoneForm(zones: readonly string[], chosen: string): Html | string {
  if (zones.length < 2) return "";
  return html`<form action="/setup" method="get">
<div><label for="zone">Zone</label><select id="zone" name="zone">${options(zones, chosen)}</select></div>
<button>Show</button>
</form>`;
}

function port({ address, port }: { readonly address: string | undefined; readonly port: number }): Html {
  return html`port ${port}${address === undefined ? "" : html` of <code>${address}</code>`}`;
}

function clientDetails({ id, title, lacks, steps, files }: ClientSetup, zone: string): Html {
  if (lacks !== undefined)
    return html`<details><summary>${title} <span class="soft">(needs a setting)</span></summary><div id="${id}"><p class="note">${withCode(lacks)}</p></div></details>`;
  return html`<details><summary>${title}</summary><div id="${id}">
<ul>${steps.map((step) => html`<li>${withCode(step)}</li>`)}</ul>
${Object.entries(files).map(
  ([
    fileName,
    text,
  ]) => html`<h3><a href="${fileUrl(id, fileName, zone)}" download="${fileName}">${fileName}</a></h3>
<pre tabindex="0" aria-label="${fileName}" data-copy="${fileName}">${text}</pre>`,
)}
</div></details>`;
}

/** A sentence with code between backticks. */
function withCode(sentence: string): Html[] {
  return sentence
    .split("`")
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

function fileUrl(client: string, fileName: string, zone: string): string {
  return `/setup/${client}/${fileName}?zone=${encodeURIComponent(zone)}`;
}
