import { Hono } from "hono";
import { etag } from "hono/etag";
import { html } from "hono/html";

/** `/`: what this is and how to ask it, for a person who opened the address in a browser. */
export function createStartPage(zones: readonly string[], version: string): Hono {
  const routes = new Hono();
  routes.get("/", etag(), (c) => {
    const { origin } = new URL(c.req.url);
    // Browsers and macOS keep `.local` to themselves, so an alias makes the better example.
    const zone = zones.find((name) => !/\.local\.?$/i.test(name)) ?? zones[0] ?? "clusterset.local";
    const json = `${origin}/resolve?name=dns-version.${zone}&type=TXT`;
    c.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
    c.header("x-content-type-options", "nosniff");
    c.header("cache-control", "no-cache");
    return c.html(html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>clusterset-doh</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem}pre{overflow-x:auto}</style></head>
<body>
<h1>clusterset-doh</h1>
<p>DNS over HTTPS for a Kubernetes clusterset, version ${version}. Zones: ${zones.join(", ")}.</p>
<h2>JSON</h2>
<p><a href="${json}">${json}</a></p>
<h2>DNS clients (RFC 8484)</h2>
<pre>${origin}/dns-query{?dns}</pre>
<h2>As seen from one cluster</h2>
<pre>${origin}/clusters/CLUSTER_ID/dns-query{?dns}</pre>
<p><a href="/readyz">readiness</a></p>
</body></html>
`);
  });
  return routes;
}
