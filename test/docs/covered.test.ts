import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { coverageOf, coveringFolders, END_TO_END } from "../e2e/covered.ts";

const root = new URL("../../", import.meta.url);
const foldersOf = (path: string) =>
  readdirSync(new URL(path, root), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? entry.name : [],
  );

it("each stage is covered by an end-to-end folder, and nothing that is gone", () => {
  const covered = END_TO_END.flatMap(coverageOf);
  for (const stage of foldersOf("src")) expect(covered).toContain(`src/${stage}/`);
  for (const path of covered) expect(existsSync(fileURLToPath(new URL(path, root))), path).toBe(true);
});

it("each end-to-end folder says what it covers", () => {
  expect(END_TO_END).toEqual(
    foldersOf("test/e2e").filter((name) => name !== "harness" && name !== "servers"),
  );
});

it("a change runs what covers it, and a change of the harness runs everything", () => {
  expect(coveringFolders(["src/desired/service.ts"])).toEqual(["test/e2e/control"]);
  expect(coveringFolders(["test/e2e/edge/store.e2e.test.ts"])).toEqual(["test/e2e/edge"]);
  expect(coveringFolders(["test/e2e/servers/dns.ts"])).toHaveLength(END_TO_END.length);
  expect(coveringFolders(["LICENSE"])).toEqual([]);
});
