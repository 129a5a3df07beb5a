import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY, sidebarOf, targetOnSite, VERSION } from "../../docs/.vitepress/markdown.ts";
import { anchorsOf, filesBelow, pages, root, textOf, withoutCode } from "./pages.ts";

/** What a text names that does not exist: files or folders, and headings. @param page where paths begin */
function deadIn(text: string, pattern: RegExp, page = ""): string[] {
  return Array.from(text.matchAll(pattern), ([, target]) => target!).filter((target) => {
    const [path, anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path!);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && file.endsWith(".md") && !anchorsOf(file).has(anchor);
  });
}

describe("the pages", () => {
  const LINK = /\]\((?![a-z]+:)([^)\s]+)\)/g;
  const CODE = /`((?:src|test|scripts|bench|infra|examples)\/[\w./-]+\.(?:ts|sh|yaml|json))`/g;

  it("link to files and headings that exist", () => {
    const texts = pages.map((page) => ({ page, text: withoutCode(textOf(page)) }));
    expect(texts.flatMap(({ text }) => text.match(LINK) ?? []).length).toBeGreaterThan(100);
    const dead = texts.map(({ page, text }) => ({ page, dead: deadIn(text, LINK, page) }));
    expect(dead.filter((one) => one.dead.length > 0)).toEqual([]);
  });

  it("name files of the code that exist", () => {
    const dead = pages.map((page) => ({ page, dead: deadIn(textOf(page), CODE) }));
    expect(dead.filter((one) => one.dead.length > 0)).toEqual([]);
    expect(deadIn(textOf("docs/reference/compatibility.md"), /`(test\/[\w/.-]+)`/g)).toEqual([]);
  });
});

it("the code names pages and headings that exist", () => {
  const dead = ["src", "test", "scripts", "bench", "infra", "examples"]
    .flatMap((folder) => filesBelow(join(root, folder)))
    .filter((path) => /\.(ts|ya?ml|md|toml)$/.test(path) && statSync(path).size < 1_000_000)
    .map((path) => ({
      file: relative(root, path),
      dead: deadIn(readFileSync(path, "utf8"), /\b(docs\/[\w/-]+\.md(?:#[\w-]+)?)/g),
    }));
  expect(dead.filter((one) => one.dead.length > 0)).toEqual([]);
});

const architecture = textOf("ARCHITECTURE.md");
const folders = readdirSync(join(root, "src"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

it("ARCHITECTURE.md has every folder of src/ in its table, and no other, and each in its picture", () => {
  const listed = [...architecture.matchAll(/^\| `([a-z0-9]+)\/` \|/gm)].map(([, folder]) => folder);
  expect(listed.sort()).toEqual(folders.sort());
  const [picture] = /```mermaid.*?```/s.exec(architecture)!;
  // dns/ is below all of them.
  expect(folders.filter((folder) => folder !== "dns" && !picture.includes(`${folder}/`))).toEqual([]);
});

describe("the site", () => {
  it("has each page of docs/ once in its side bar, which is the index, by its title", () => {
    const entries = sidebarOf(textOf("docs/README.md")).flatMap(({ items = [] }) => items);
    const local = entries.filter(({ link }) => link!.startsWith("/"));
    const ofDocs = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
    expect(local.map(({ link }) => `docs${link}`).sort()).toEqual([...ofDocs].sort());
    for (const { link, text } of local) expect(textOf(`docs${link}`)).toMatch(`# ${text}\n`);
  });

  it.each([
    ["../reference/limits.md#one-client", "../reference/limits.md#one-client"],
    ["#usage", "#usage"],
    ["https://example.org/a.md", "https://example.org/a.md"],
    ["../../SECURITY.md#creation-times", `${REPOSITORY}/blob/v${VERSION}/SECURITY.md#creation-times`],
    ["../../infra/systemd", `${REPOSITORY}/blob/v${VERSION}/infra/systemd`],
    ["../reference/schema/a.json", `${REPOSITORY}/blob/v${VERSION}/docs/reference/schema/a.json`],
  ])("links from a page of how-to/ to %s by %s", (target, expected) => {
    expect(targetOnSite(target, join(root, "docs/how-to/access.md"))).toBe(expected);
  });
});
