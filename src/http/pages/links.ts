import { html } from "hono/html";
import type { Html } from "./page.ts";

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
