import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pages, root, textOf } from "./pages.ts";

const architecture = textOf("ARCHITECTURE.md");
const folders = readdirSync(join(root, "src"), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

describe("ARCHITECTURE.md", () => {
  it("has every folder of src/ in its table, and no other", () => {
    const listed = [...architecture.matchAll(/^\| `([a-z0-9]+)\/` \|/gm)].map(([, folder]) => folder);
    expect(listed.sort()).toEqual(folders.sort());
  });

  it("has every folder of src/ in its picture", () => {
    const [picture] = /```mermaid.*?```/s.exec(architecture)!;
    // dns/ is below all of them.
    expect(folders.filter((folder) => folder !== "dns" && !picture.includes(`${folder}/`))).toEqual([]);
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
