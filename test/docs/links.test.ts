import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsOf, filesBelow, pages, root, textOf, withoutCode } from "./pages.ts";

interface Link {
  readonly page: string;
  readonly target: string;
}

const links: Link[] = pages.flatMap((page) =>
  [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => ({ page, target: target! }))
    .filter(({ target }) => !/^[a-z]+:/.test(target)),
);

describe("links of the documentation", () => {
  it("are found", () => expect(links.length).toBeGreaterThan(100));

  it("lead to files that exist", () => {
    const dead = links.filter(({ page, target }) => {
      const path = target.split("#")[0]!;
      return path !== "" && !existsSync(join(root, dirname(page), path));
    });
    expect(dead).toEqual([]);
  });

  it("lead to headings that exist", () => {
    const dead = links.filter(({ page, target }) => {
      const [path, anchor] = target.split("#");
      if (anchor === undefined) return false;
      const file = path === "" ? page : join(dirname(page), path!);
      return file.endsWith(".md") && existsSync(join(root, file)) && !anchorsOf(file).has(anchor);
    });
    expect(dead).toEqual([]);
  });

  it("name each page of docs/ in its index", () => {
    const index = textOf("docs/README.md");
    const missing = pages.filter((page) => {
      const path = relative("docs", page).split(sep).join("/");
      return page.startsWith("docs") && path !== "README.md" && !index.includes(`(${path})`);
    });
    expect(missing).toEqual([]);
  });
});

describe("the code", () => {
  it("names pages and headings that exist", () => {
    const dead = ["src", "test", "scripts", "bench", "infra", "examples"]
      .flatMap((folder) => filesBelow(join(root, folder)))
      .filter((path) => /\.(ts|ya?ml|md|toml)$/.test(path) && statSync(path).size < 1_000_000)
      .flatMap((path) =>
        [...readFileSync(path, "utf8").matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([named]) => ({
          file: relative(root, path),
          named,
        })),
      )
      .filter(({ named }) => {
        const [page, anchor] = named.split("#");
        if (!existsSync(join(root, page!))) return true;
        return anchor !== undefined && !anchorsOf(page!).has(anchor);
      });
    expect(dead).toEqual([]);
  });
});
