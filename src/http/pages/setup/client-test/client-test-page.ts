import { html } from "hono/html";
import { type ClientTests, isToken, type Sighting } from "../../../../answer/client-tests.ts";
import type { SetupFacts } from "../../../setup/setup-facts.ts";
import type { Html, Page } from "../../page.ts";
import { duration } from "../../words.ts";
import { CLIENT_TEST_SCRIPT } from "./client-test-script.ts";

/** The parts of the test page. */
export interface ClientTestParts {
  /** Undefined on hosts that do not see the queries of all their parts. */
  readonly tests: ClientTests | undefined;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** The state of a test, for the page's script. */
export interface ClientTestResult {
  readonly seen: boolean;
  readonly message: string;
}

/** The state of the test with that token; undefined for a text that is not a token, or on a host that does not see all queries. */
export function clientTestResult(
  { tests, clock }: ClientTestParts,
  token: string | null,
): ClientTestResult | undefined {
  if (tests === undefined || token === null || !isToken(token)) return undefined;
  const now = clock();
  const sighting = tests.sightingOf(token, now);
  return sighting === undefined
    ? { seen: false, message: "Not so far: no query for that name has reached this gateway." }
    : { seen: true, message: describeSighting(sighting, now) };
}

function describeSighting({ at, view }: Sighting, now: number): string {
  const asked = view === undefined ? "from outside the clusters" : `as cluster ${view}`;
  return `Yes: this client queried this gateway for the name ${duration(now - at)} ago, ${asked}.`;
}

/**
 * "Does my client work?": the page has an image at a new name in the zone. A client that uses this gateway queries it for that name.
 * The link, or the script, shows whether the query arrived. `example` is a query in base64url.
 */
export function clientTestPage(
  parts: ClientTestParts,
  facts: SetupFacts,
  token: string | null,
  example: string,
): Page {
  const { tests } = parts;
  const { zone } = facts;
  const setup = html`<a href="/setup?zone=${encodeURIComponent(zone)}">Set up a client for ${zone}</a>`;
  const title = `Does this browser resolve ${zone} here?`;
  if (tests === undefined)
    return {
      title,
      at: "/setup",
      body: html`<h1>${title}</h1>
<p>This gateway runs in many places that do not share their queries, so the test has no result here. Open the name of a service in a new tab instead, or on a command line: <code>curl -v http://${facts.example.name}/</code></p>
<p>${setup}</p>`,
    };
  const result = clientTestResult(parts, token);
  if (result !== undefined && token !== null)
    return { title, at: "/setup", body: resultBody(title, result, zone, token, setup) };
  const fresh = tests.begin();
  const name = tests.nameFor(fresh, zone);
  const resultUrl = `/setup/test?zone=${encodeURIComponent(zone)}&token=${fresh}`;
  return {
    title,
    at: "/setup",
    script: CLIENT_TEST_SCRIPT,
    images: [`https://${name}`],
    connections: ["'self'", facts.origin],
    body: html`<h1>${title}</h1>
<p>This page makes your browser resolve a new name: <code>${name}</code>. It does not exist; the test shows which resolver gets the query.</p>
<div id="client-test" data-query="${facts.resource}?dns=${example}" data-result="${resultUrl}">
<h2>Does it reach the gateway?</h2>
<p id="reach" role="status">You read this page, so your browser reaches the gateway here. <a href="${facts.origin}${facts.prefix}/resolve?name=${encodeURIComponent(facts.example.name)}&amp;type=${facts.example.type}">${facts.origin}</a> is where clients send queries.</p>
<h2>Does it query the gateway?</h2>
<p id="look" role="status"><a href="${resultUrl}">Show whether the query arrived here</a></p>
</div>
<p>${setup}</p>
<img class="pixel" src="https://${name}/" alt="">`,
  };
}

function resultBody(
  title: string,
  { seen, message }: ClientTestResult,
  zone: string,
  token: string,
  setup: Html,
): Html {
  return html`<h1>${title}</h1>
<p class="verdict ${seen ? "good" : "bad"}">${message}</p>
${
  seen
    ? ""
    : html`<p>If the previous page was open for a few seconds, the browser used another resolver. Possible reasons:</p>
<ul>
<li>it is not set up for ${zone} yet;</li>
${zone.endsWith("local") ? html`<li>${zone} ends in .local: browsers never send such names to a DoH server, so choose an alias zone;</li>` : ""}
<li>its own setting for secure DNS overrides that of the system, or vice versa;</li>
<li>a proxy resolves the names.</li>
</ul>
<p><a href="/setup/test?zone=${encodeURIComponent(zone)}&amp;token=${token}">Look again</a>, or <a href="/setup/test?zone=${encodeURIComponent(zone)}">start another test</a>.</p>`
}
<p>${setup}</p>`;
}
