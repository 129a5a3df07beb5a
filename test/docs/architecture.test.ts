import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { pages, root, textOf } from "./pages.ts";

const architecture = textOf("ARCHITECTURE.md");
const folders = readdirSync(join(root, "src"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

describe("ARCHITECTURE.md", () => {
  it("has every folder of src/ in its table, and no other", () => {
    const listed = [...architecture.matchAll(/^\| `([a-z]+)\/` \|/gm)].map(([, folder]) => folder);
    expect(listed.sort()).toEqual(folders.sort());
  });

  it("has every folder of src/ in its picture", () => {
    const [picture] = /```mermaid.*?```/s.exec(architecture)!;
    // dns/ is below all of them.
    expect(folders.filter((folder) => folder !== "dns" && !picture.includes(`${folder}/`))).toEqual([]);
  });
});

describe("the code of every stage", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );

  it("has at most 15 entries in a folder", () => {
    const entriesOf = (folder: string) => readdirSync(join(root, "src", folder)).length;
    const below = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => relative(join(root, "src"), join(parentPath, name)));
    expect(below.filter((folder) => entriesOf(folder) > 15)).toEqual([]);
  });

  it("has at most 300 lines in a file", () => {
    const long = files
      .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
      .filter((file) => textOf(file).split("\n").length - 1 > 300);
    expect(long).toEqual([]);
  });
});

it("pages name files of the code that exist", () => {
  const dead = pages.flatMap((page) =>
    [
      ...textOf(page).matchAll(
        /`((?:src|test|scripts|bench|infra|examples)\/[\w./-]+\.(?:ts|sh|yaml|json))`/g,
      ),
    ]
      .map(([, path]) => ({ page, path: path! }))
      .filter(({ path }) => !existsSync(join(root, path))),
  );
  expect(dead).toEqual([]);
});
