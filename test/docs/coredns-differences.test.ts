import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { localDifferences } from "../e2e/coredns/cluster-local/differences/index.ts";
import { renderDocument } from "../e2e/coredns/comparison/document.ts";
import { differences } from "../e2e/coredns/differences/index.ts";

// After a change of the table: npx vitest run --project unit test/docs -u
test("docs/explanation/coredns-differences.md is what the table of differences says", async () => {
  const page = fileURLToPath(new URL("../../docs/explanation/coredns-differences.md", import.meta.url));
  await expect(renderDocument()).toMatchFileSnapshot(page);
});

test.each([
  ["the clusterset zone", differences],
  ["a cluster's own zone", localDifferences],
])("each difference of %s has an id of its own and names its sources", (_, table) => {
  expect(new Set(table.map(({ id }) => id)).size).toBe(table.length);
  for (const { id, reason } of table)
    expect(reason, id).toMatch(/RFC \d+|(MCS|DNS) \d|KEP-\d+|Kubernetes|Multi-label|As above/);
});
