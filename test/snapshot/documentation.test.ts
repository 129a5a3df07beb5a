import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findOutdated, generateFiles } from "../../scripts/generate-schema.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import { metaAt, NOON, prepare, push, snapshotOf, stage } from "../database/pushing.ts";
import { holding } from "./changes.ts";
import { readAll, sealed, snapshotBody } from "./lines/push-lines.ts";

/** The blocks of a page in JSON. */
function examplesOf(page: string): string[] {
  const text = readFileSync(join(import.meta.dirname, "../../docs/reference", page), "utf8");
  return [...text.matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json!);
}

const held = parseSnapshot(JSON.parse(examplesOf("snapshot-format.md")[0]!));
const [lines, delta] = examplesOf("push-api.md").filter((text) => text.includes('["exports"'));
const [header, ...changes] = lines!.trim().split("\n").slice(0, -1);

test("the line of docs/reference/push-api.md is a delta on the snapshot of docs/reference/snapshot-format.md", () => {
  const read = readAll([Buffer.from(sealed(header!, delta!.trim()))]);
  const { database, writer } = holding(held);
  push(writer, held.clusterId, "changes", read);
  const patched = snapshotOf(writer.reader, held.clusterId);
  database.close();
  const { members } = patched.exports["shop/web"]!.endpoints["http/TCP/8080"]!;
  expect(members["10.0.0.8#web-1"]?.ready).toBe(true);
  expect(Object.keys(members)).toHaveLength(2);
});

test("the lines of docs/reference/push-api.md are a whole push of that cluster", () => {
  const read = readAll([Buffer.from(sealed(header!, ...changes))]);
  const { database, writer } = holding(held);
  const staged = stage(writer.reader, held.clusterId, "whole", read);
  const { entries } = prepare(writer, staged, metaAt(NOON), { now: NOON, live: true });
  expect(entries.flatMap(({ after }) => after?.name ?? [])).toEqual(["shop/web"]);
  database.close();
  expect(new TextDecoder().decode(snapshotBody(held)).split("\n")[0]).toBe(header);
});

test("JSON Schemas, the READMEs of the charts and the OpenAPI document equal the code: run node scripts/generate-schema.ts", () => {
  expect(findOutdated()).toEqual([]);
});

test("docs/reference/schema holds no other file", () => {
  const folder = "docs/reference/schema";
  const committed = readdirSync(join(import.meta.dirname, "../..", folder)).map(
    (name) => `${folder}/${name}`,
  );
  const generated = [...generateFiles().keys()].filter((path) => path.startsWith(folder));
  expect(committed.sort()).toEqual(generated.sort());
});
