import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import { applyPatch } from "../../src/snapshot/patch.ts";

test("the examples of docs/reference/snapshot-format.md are a snapshot and a delta on it", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/reference/snapshot-format.md"), "utf8");
  const [snapshot, delta] = [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => JSON.parse(json!));
  const patched = applyPatch(parseSnapshot(snapshot), delta);
  const { members } = patched.exports["shop/web"]!.endpoints["http/TCP/8080"]!;
  expect(members["10.0.0.8#web-1"]?.ready).toBe(true);
  expect(Object.keys(members)).toHaveLength(2);
});
