// What GitHub does with the pages of docs/, for the site: anchors of headings, links to other files of the
// repository, and an order.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the checkout. */
const root = fileURLToPath(new URL("../..", import.meta.url));
const { version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly repository: { readonly url: string };
};

/** The version of the package. */
export const VERSION = version;
/** The repository's address. */
export const REPOSITORY = repository.url.replace(/^git\+|\.git$/g, "");

/** The anchor of a heading, as GitHub makes it; a second one of the same text gets `-1`. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/**
 * A link's target on the site: files that are not in docs/, or are no page, are in the repository.
 * @param page its path
 */
export function targetOnSite(target: string, page: string): string {
  if (/^(?:[a-z]+:|#|$)/.test(target)) return target;
  const [path, anchor] = target.split("#");
  const file = relative(root, join(dirname(page), path!));
  if (file.startsWith("docs/") && file.endsWith(".md")) return target;
  return `${REPOSITORY}/blob/v${VERSION}/${file}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** An entry of VitePress's side bar. */
interface Entry {
  readonly text: string;
  readonly link?: string;
  readonly items?: Entry[];
}

/** The side bar: the groups and links of docs/README.md in their order, with the titles of the pages. */
export function sidebarOf(index: string): Entry[] {
  const groups: { text: string; items: Entry[]; collapsed: boolean }[] = [];
  const seen = new Set<string>();
  for (const line of index.split("\n")) {
    const [, group] = /^## [^:]+: (.+)$/.exec(line) ?? [];
    if (group !== undefined)
      groups.push({ text: group[0]!.toUpperCase() + group.slice(1), items: [], collapsed: false });
    for (const [, target] of line.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g)) {
      const file = join(root, "docs", target!);
      if (seen.has(file)) continue;
      seen.add(file);
      const [, title] = /^# (.+)$/m.exec(readFileSync(file, "utf8"))!;
      const link = targetOnSite(target!, join(root, "docs/README.md"));
      groups.at(-1)?.items.push({ text: title!, link: link === target ? `/${target}` : link });
    }
  }
  return groups;
}
