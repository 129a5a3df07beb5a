import { html } from "hono/html";
import type { Page } from "./page.ts";

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
