import { expect, test } from "vitest";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { drain } from "../../../src/snapshot/drain.ts";

const many = <Value>(count: number, make: (index: number) => Value) =>
  new Map(Array.from({ length: count }, (_, index) => [`team-${index % 7}/web-${index}`, make(index)]));

test.each([
  ["nothing", 0, 0],
  ["one export and one import", 1, 1],
  ["many of both", 3000, 2000],
])("a record has what was seen of a cluster with %s", (_, exports, imports) => {
  const seen = new SeenCluster({
    generation: 1_795_392_000_000,
    seenAt: 1_795_392_000_123,
    exports: many(exports, (index) => ({ reported: `2026-01-01T00:00:${index % 60}Z"\n`, counts: index })),
    imports: many(imports, (index) => index * 1000),
  });
  const { text } = drain(seen.toText());
  const read = SeenCluster.read(JSON.parse(text))!;
  const { generation, seenAt } = seen;
  expect(read).toMatchObject({ generation, seenAt });
  expect([...read.exports]).toEqual([...seen.exports]);
  expect([...read.imports]).toEqual([...seen.imports]);
});

test("the record of a large cluster is written in steps of 256 entries", () => {
  const exports = many(10_000, (index) => ({ reported: "2026-01-01T00:00:00Z", counts: index }));
  const seen = new SeenCluster({ generation: 1, seenAt: 1, exports, imports: new Map() });
  expect([...seen.toText()]).toHaveLength(Math.floor(10_000 / 256));
});
