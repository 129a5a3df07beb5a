import { html } from "hono/html";
import type { ClientSetup } from "../../setup/client-setup.ts";
import { CLIENT_GROUPS } from "../../setup/clients.ts";
import type { SetupFacts } from "../../setup/setup-facts.ts";
import type { SetupFile } from "../../setup/setup-file.ts";
import type { Html, Page } from "../page.ts";

/** The file name of the gateway's certificate, for clients that need it. */
export const CERTIFICATE_FILE = "certificate.crt";

/** The content of the page in addition to the facts. */
export interface SetupPageParts {
  readonly zones: readonly string[];
  /** Whether the shown address is that of the request, because no public address is configured. */
  readonly isGuessed: boolean;
}

/** `/setup`: how to make each client query this gateway for a zone. */
export async function setupPage(facts: SetupFacts, { zones, isGuessed }: SetupPageParts): Promise<Page> {
  const { zone, resource, origin } = facts;
  const groups = await Promise.all(
    CLIENT_GROUPS.map(async ({ title, clients }) => ({
      title,
      clients: await Promise.all(clients.map((client) => clientDetails(client, facts))),
    })),
  );
  return {
    title: `Set up a client for ${zone}`,
    at: "/setup",
    body: html`<h1>Set up a client for ${zone}</h1>
${zoneForm(zones, zone)}
<dl>
<dt>DNS over HTTPS</dt><dd><code>${resource}</code></dd>
<dt>As a URI template</dt><dd><code>${resource}{?dns}</code></dd>
<dt>JSON</dt><dd><a href="${origin}/resolve?name=${encodeURIComponent(facts.example.name)}&amp;type=${facts.example.type}"><code>${origin}/resolve?name=${facts.example.name}&amp;type=${facts.example.type}</code></a></dd>
${facts.dot === undefined ? "" : html`<dt>DNS over TLS</dt><dd>${port(facts.dot)}</dd>`}
${facts.dns === undefined ? "" : html`<dt>Plain DNS</dt><dd>${port(facts.dns)}</dd>`}
</dl>
${isGuessed ? html`<p class="hint">The address is that of this request. If clients reach the gateway at another one, set publicUrl in its configuration.</p>` : ""}
${groups.map(
  ({ title, clients }) => html`<h2>${title}</h2>
${clients}`,
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
<div><label for="zone">Zone</label><select id="zone" name="zone">${zones.map(
    (zone) => html`<option${zone === chosen ? html` selected` : ""}>${zone}</option>`,
  )}</select></div>
<button>Show</button>
</form>`;
}

function port({ address, port }: { readonly address: string | undefined; readonly port: number }): Html {
  return html`port ${port}${address === undefined ? "" : html` of <code>${address}</code>`}`;
}

async function clientDetails(client: ClientSetup, facts: SetupFacts): Promise<Html> {
  const { id, title } = client;
  const lacks = client.lacks?.(facts);
  if (lacks !== undefined)
    return html`<details><summary>${title} <span class="soft">(needs a setting)</span></summary><div id="${id}"><p class="note">${withCode(lacks)}</p></div></details>`;
  const files = await Promise.all(client.files.map((make) => make(facts)));
  return html`<details><summary>${title}</summary><div id="${id}">
<ul>${client.steps(facts).map((step) => html`<li>${withCode(step)}</li>`)}</ul>
${files.map((file) => fileView(file, fileUrl(id, file.fileName, facts.zone)))}
</div></details>`;
}

/** A sentence with code between backticks. */
function withCode(sentence: string): Html[] {
  return sentence
    .split("`")
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

function fileView({ fileName, text }: SetupFile, url: string): Html {
  return html`<h3><a href="${url}" download="${fileName}">${fileName}</a></h3>
<pre tabindex="0" aria-label="${fileName}">${text}</pre>`;
}

function fileUrl(client: string, fileName: string, zone: string): string {
  return `/setup/${client}/${fileName}?zone=${encodeURIComponent(zone)}`;
}
