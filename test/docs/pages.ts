import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { anchorOf } from "../../docs/.vitepress/markdown.ts";

/** The root of the checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Files below a folder, without what is fetched or built. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (["node_modules", "dist", ".git", ".wrangler"].includes(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** Every page of the documentation, as a path from the root. */
export const pages: readonly string[] = [
  ...readdirSync(root).flatMap((name) => (name.endsWith(".md") ? [join(root, name)] : [])),
  ...["docs", "examples", "infra"].flatMap((folder) =>
    filesBelow(join(root, folder)).filter((path) => path.endsWith(".md")),
  ),
].map((path) => relative(root, path));

/** A file's text, by its path from the root. */
export function textOf(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The keys in the first cell of a row of limits.md: `.key` belongs to the group of the one before. */
export function keysOfCell(cell: string): string[] {
  let group = "";
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, key]) => {
    if (key!.startsWith(".")) return `${group}${key}`;
    group = key!.slice(0, key!.lastIndexOf("."));
    return key!;
  });
}

/** A page's text without its code blocks. */
export function withoutCode(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, "");
}

/** The code blocks of a page in one language, indented ones too. */
export function blocksIn(page: string, language: string): string[] {
  return blocksOf(textOf(page), language);
}

/** The same of a part of a page. */
export function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\``, "gms"))].map(
    ([, block]) => block!,
  );
}

/** The cells of the rows of a page's tables whose first cell begins with code. */
export function rowsIn(page: string): string[][] {
  const lines = textOf(page).split("\n");
  return lines.filter((line) => line.startsWith("| `")).map((line) => line.slice(2, -2).split(/ *\| */));
}

/** The anchors of a page's headings, as GitHub and the site make them. */
export function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading] of withoutCode(textOf(page)).matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = anchorOf(heading!);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}
