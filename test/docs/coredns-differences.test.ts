import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { differences } from "../e2e/coredns/differences/index.ts";
import { renderDocument } from "../e2e/coredns/document.ts";

// After a change of the table: npx vitest run --project unit test/docs -u
test("docs/coredns-differences.md is what the table of differences says", async () => {
  const page = fileURLToPath(new URL("../../docs/coredns-differences.md", import.meta.url));
  await expect(renderDocument()).toMatchFileSnapshot(page);
});

test("each difference has an id of its own and names its sources", () => {
  expect(new Set(differences.map(({ id }) => id)).size).toBe(differences.length);
  for (const { id, reason } of differences) expect(reason, id).toMatch(/RFC \d+|MCS \d|KEP-\d+|As above/);
});
