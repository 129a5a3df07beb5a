import { html } from "hono/html";
import { Hono } from "hono/tiny";
import type { AccessControl, ShownRequest } from "../../access/admission.ts";
import { bearerToken } from "../../access/secrets.ts";
import type { AccessCounters } from "../../answer/answer-query.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { FetchRequest } from "../messages/message.ts";
import { type Page, pageResponse } from "./page.ts";

/** A session cookie, sent to this host alone and over TLS alone (RFC 6265bis section 4.1.3.2). */
const COOKIE = "__Host-clusterset-doh";
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";
const SESSION = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`);
/** Browsers keep no longer cookie: name, value and attributes have 4,096 bytes. */
const LONGEST_TOKEN = 4000;

/**
 * The request of a browser that logged in, as if it had the token in its Authorization field; undefined for
 * any other. For pages and `/status` alone: no cache keeps them.
 */
export function withSession(request: ShownRequest): ShownRequest | undefined {
  const token = SESSION.exec(request.header("cookie") ?? "")?.[1];
  return token === undefined || request.header("authorization") !== null
    ? undefined
    : withToken(request, token);
}

function withToken(request: ShownRequest, token: string): ShownRequest {
  const { url, host, client } = request;
  const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : request.header(name));
  return { url, host, client, header };
}

/** The parts of the log-in. */
interface LoginParts {
  readonly access: AccessControl;
  readonly version: string;
  readonly accessCounters: AccessCounters;
}

/**
 * `/login` and `/logout`, for people with a bearer token: the browser keeps it until it is closed, and pages
 * take it from there.
 */
export function createLoginRoutes({ access, version, accessCounters }: LoginParts): Hono<AppEnvironment> {
  const routes = new Hono<AppEnvironment>();
  const rejected = (problem: string) => pageResponse(loginPage(problem), version);
  routes.get("/login", () => pageResponse(loginPage(), version));
  routes.post("/login", async (c) => {
    const request = new FetchRequest(c.req.raw, c.env.client);
    if (isForeign(request)) return rejected("another site sent this form");
    const body = await request.body(LONGEST_TOKEN + 100);
    const text = new URLSearchParams(new TextDecoder().decode(body)).get("token")?.trim() ?? "";
    const token = bearerToken(`Bearer ${text}`);
    if (token === undefined || token.length > LONGEST_TOKEN)
      return rejected(`this is no bearer token of 1 to ${LONGEST_TOKEN} characters (RFC 6750)`);
    const admission = await access.admit(withToken(request, token));
    // With a rule for everybody, an unknown token may be that of a cluster.
    if (admission.rule?.isPublic === false) return leave(`${COOKIE}=${token}; ${ATTRIBUTES}`);
    accessCounters.rejected.hit("unknown");
    return rejected(admission.rule === undefined ? admission.message : "no access rule has this token");
  });
  routes.post("/logout", (c) =>
    isForeign(new FetchRequest(c.req.raw, c.env.client))
      ? rejected("another site sent this form")
      : leave(`${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`),
  );
  return routes;
}

/**
 * Whether a page of another site sends a form (Fetch Metadata, section 2.4); older browsers name their page's
 * origin.
 */
function isForeign(request: FetchRequest): boolean {
  const site = request.header("sec-fetch-site");
  if (site !== null) return site !== "same-origin" && site !== "none";
  const origin = request.header("origin");
  return origin !== null && URL.parse(origin)?.host !== request.host;
}

function leave(cookie: string): Response {
  return new Response(null, {
    status: 303,
    headers: { location: "/", "set-cookie": cookie, "cache-control": "no-store" },
  });
}

/** The form for a token. @param problem why the last one, or the request, is not admitted */
export function loginPage(problem?: string): Page {
  return {
    title: "Log in",
    status: problem === undefined ? 200 : 401,
    body: html`<h1>Log in</h1>
${problem === undefined ? "" : html`<p class="note" role="alert">${problem}.</p>`}
<form action="/login" method="post">
<div class="wide"><label for="token">Bearer token</label>
<input id="token" name="token" type="password" required autofocus maxlength="${LONGEST_TOKEN}" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<button>Log in</button>
</form>
<p class="hint">The browser keeps the token in a session cookie of this host name, which counts for pages and /status alone. It is gone when you log out or close the browser.</p>
<form action="/logout" method="post"><button>Log out</button></form>`,
  };
}
