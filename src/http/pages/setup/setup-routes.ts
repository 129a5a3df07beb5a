import { type Context, Hono } from "hono";
import { html } from "hono/html";
import type { AppEnvironment } from "../../messages/environment.ts";
import { prefersHtml } from "../../messages/media-type.ts";
import { CLIENT_GROUPS } from "../../setup/clients.ts";
import { readSetupFacts, SetupError, type SetupFacts } from "../../setup/setup-facts.ts";
import { PLAIN_TEXT, type SetupFile } from "../../setup/setup-file.ts";
import { exampleIn } from "../example.ts";
import { notFoundPage } from "../not-found-page.ts";
import { type Page, pageResponse } from "../page.ts";
import type { PageParts } from "../page-parts.ts";
import { CERTIFICATE_FILE, setupPage } from "./setup-page.ts";

type SetupContext = Context<AppEnvironment>;

/** `/setup` and its files at `/setup/<client>/<file>`. Both take `?zone=`. */
export function createSetupRoutes(): Hono<AppEnvironment> {
  const clients = CLIENT_GROUPS.flatMap((group) => group.clients);
  const routes = new Hono<AppEnvironment>();
  const withParts =
    (answer: (c: SetupContext, parts: PageParts) => Response | Promise<Response>) => (c: SetupContext) => {
      const parts = c.env?.answers?.pages;
      return parts === undefined ? c.notFound() : answer(c, parts);
    };

  routes.get(
    "/",
    withParts((c, parts) => {
      const { zones, publicUrl } = parts;
      return pageOf(c, parts, (facts) => setupPage(facts, { zones, isGuessed: publicUrl === undefined }));
    }),
  );
  routes.get(
    `/certificate/${CERTIFICATE_FILE}`,
    withParts((c, parts) => {
      const certificate = parts.reach?.().certificate;
      return certificate === undefined
        ? missing(c, parts, "this gateway's certificate is not self-signed: clients need no file to trust it")
        : download({
            fileName: CERTIFICATE_FILE,
            contentType: "application/x-pem-file",
            text: certificate,
          });
    }),
  );
  routes.get(
    "/:client/:file",
    withParts(async (c, parts) => {
      const client = clients.find(({ id }) => id === c.req.param("client"));
      if (client === undefined) return missing(c, parts, "this file does not exist; /setup lists the files");
      try {
        const facts = await readFacts(c, parts);
        const lacks = client.lacks?.(facts);
        if (lacks !== undefined) return missing(c, parts, lacks);
        const files = await Promise.all(client.files.map((make) => make(facts)));
        const file = files.find(({ fileName }) => fileName === c.req.param("file"));
        return file === undefined
          ? missing(c, parts, "this file does not exist; /setup lists the files")
          : download(file);
      } catch (error) {
        if (!(error instanceof SetupError)) throw error;
        return missing(c, parts, error.message);
      }
    }),
  );
  return routes;
}

/** The error for a missing file: a page for browsers. */
function missing(c: SetupContext, { version }: PageParts, text: string): Response | Promise<Response> {
  return prefersHtml(c.req.header("accept") ?? null)
    ? pageResponse(notFoundPage(text), version, c.env.urlToken?.prefix)
    : plain(c, text);
}

/** @throws {SetupError} for a zone that is not served, or an address that clients cannot use */
async function readFacts(c: SetupContext, parts: PageParts): Promise<SetupFacts> {
  const { zones, publicUrl } = parts;
  const zone = (c.req.query("zone") ?? zones[0]!).replace(/\.$/, "").toLowerCase();
  if (!zones.includes(zone))
    throw new SetupError(`this gateway does not serve that zone: choose ${zones.join(" or ")}`);
  const { urlToken } = c.env;
  const { certificate, ...reach } = parts.reach?.() ?? {};
  return readSetupFacts({
    ...reach,
    // A token in the host name is part of the address.
    url: urlToken?.prefix === "" ? c.req.url : (publicUrl ?? c.req.url),
    prefix: urlToken?.prefix,
    zone,
    example: await exampleIn(parts.directory, zone),
    isSelfSigned: certificate !== undefined,
  });
}

async function pageOf(
  c: SetupContext,
  parts: PageParts,
  make: (facts: SetupFacts) => Page | Promise<Page>,
): Promise<Response> {
  let page: Page;
  try {
    page = await make(await readFacts(c, parts));
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    page = cannotBeSetUp(error.message, parts.zones);
  }
  return pageResponse(page, parts.version, c.env.urlToken?.prefix);
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

function download({ fileName, contentType, text }: SetupFile): Response {
  return new Response(text, {
    headers: {
      "content-type": contentType,
      "content-disposition": `attachment; filename="${fileName}"`,
      // Its text depends on the Host field, which the sender of the request chooses.
      "cache-control": "private, no-cache",
      "x-content-type-options": "nosniff",
    },
  });
}

function plain(c: Context, text: string): Response {
  return c.body(`${text}\n`, 404, {
    "content-type": PLAIN_TEXT,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
}
