import { join } from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY, sidebarOf, targetOnSite, VERSION } from "../../docs/.vitepress/markdown.ts";
import { pages, root, textOf } from "./pages.ts";

const ofDocs = pages.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");

it("the site's side bar has each page of docs/ once, by its title", () => {
  const entries = sidebarOf(textOf("docs/README.md")).flatMap(({ items = [] }) => items);
  const local = entries.filter(({ link }) => link!.startsWith("/"));
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
])("on the site a page of how-to/ links %s to %s", (target, expected) => {
  expect(targetOnSite(target, join(root, "docs/how-to/access.md"))).toBe(expected);
});
