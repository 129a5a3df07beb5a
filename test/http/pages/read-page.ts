import { expect } from "vitest";

/** The text of a page, for checks of all pages. */
export interface ReadPage {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** The text without tags, with single spaces. */
  readonly text: string;
  readonly ids: readonly string[];
  /** `href` and `src` values, unescaped. */
  readonly links: readonly string[];
}

/** Reads a page and checks what holds for all pages: it is complete, escaped, and within its policy. */
export async function readPage(response: Response): Promise<ReadPage> {
  const html = await response.text();
  const page = {
    status: response.status,
    headers: response.headers,
    html,
    text: plainText(
      html
        .replace(/<(style|script)>[\s\S]*?<\/\1>/g, "")
        .replace(/<[^>]*>/g, " ")
        .replace(/\s+/g, " "),
    ),
    ids: [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!),
    links: [...html.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, link]) => plainText(link!)),
  };
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("private, no-cache");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  await expectPolicy(page);
  expectAccessible(page);
  return page;
}

/** Expects all parts: `/…` among the links, `<…` and ` …="…"` in the HTML, others in the text. */
export function expectPage(page: ReadPage, parts: readonly (string | RegExp)[], status = 200): void {
  expect(page.status).toBe(status);
  for (const part of parts)
    if (typeof part !== "string") expect(page.text).toMatch(part);
    else if (part.startsWith("/")) expect(page.links).toContain(part);
    else expect(/^<|^ [a-z-]+="/.test(part) ? page.html : page.text).toContain(part);
}

async function expectPolicy({ headers, html }: ReadPage): Promise<void> {
  const directives = new Map(
    headers
      .get("content-security-policy")!
      .split("; ")
      .map((directive) => [directive.split(" ")[0]!, directive.split(" ").slice(1)] as const),
  );
  expect(directives.get("default-src")).toEqual(["'none'"]);
  expect(directives.get("base-uri")).toEqual(["'none'"]);
  expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
  for (const tag of ["style", "script"]) {
    const blocks = [...html.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g"))].map(
      ([, text]) => text!,
    );
    const allowed = directives.get(`${tag}-src`) ?? [];
    expect(allowed).toHaveLength(blocks.length);
    for (const text of blocks) expect(allowed).toContain(`'sha256-${await sha256(text)}'`);
  }
  // No other script or style: the policy would block it.
  expect(html).not.toMatch(/<script |<style |<link (?!rel="icon")| on[a-z]+=| style="/);
}

function expectAccessible({ html, ids }: ReadPage): void {
  expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
  expect(new Set(ids).size, "ids are unique").toBe(ids.length);
  expect(html.match(/<h1[ >]/g), "one heading of the first level").toHaveLength(1);
  expect(html.match(/<main[ >]/g)).toHaveLength(1);
  expect(html).toContain('<a class="skip" href="#main">');
  const levels = [...html.matchAll(/<h([1-6])[ >]/g)].map(([, level]) => Number(level));
  for (const [index, level] of levels.entries())
    expect(level, "no heading skips a level").toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1);
  for (const [, id] of html.matchAll(/<(?:input|select)\b[^>]* id="([^"]*)"/g))
    expect(html, `a label for ${id}`).toContain(`<label for="${id}">`);
  for (const [, list] of html.matchAll(/aria-(?:describedby|labelledby)="([^"]*)"/g))
    for (const id of list!.split(" ")) expect(ids, "what ARIA refers to is there").toContain(id);
  for (const [tag] of html.matchAll(/<img\b[^>]*>/g)) expect(tag).toContain(" alt=");
}

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toString(
    "base64",
  );
}

/** HTML without its entities. */
export function plainText(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
