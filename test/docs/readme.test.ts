import { expect, it } from "vitest";
import { pages, textOf } from "./pages.ts";

const readme = textOf("README.md");

it("README.md has at most 120 lines and one picture", () => {
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(120);
  expect(readme.match(/```mermaid|!\[/g)).toHaveLength(1);
});

it("README.md begins with the two lines", () => {
  expect(readme).toMatch(/^# clusterset-doh\n\n```sh\nnpm ci && npm start .*\nnpm ci && npm test .*\n```\n/);
});

it("no folder of docs/ has more than fifteen entries", () => {
  const folders = new Map<string, Set<string>>();
  for (const page of pages.filter((path) => path.startsWith("docs/"))) {
    const parts = page.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/");
      folders.set(folder, (folders.get(folder) ?? new Set()).add(parts[depth]!));
    }
  }
  for (const [folder, entries] of folders) expect(entries.size, folder).toBeLessThanOrEqual(15);
});
