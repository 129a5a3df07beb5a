import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findOutdated, generateSchemas } from "../../scripts/generate-schema.ts";

test("JSON Schemas and the OpenAPI document equal the code: run node scripts/generate-schema.ts", () => {
  expect(findOutdated()).toEqual([]);
});

test("docs/reference/schema holds no other file", () => {
  const committed = readdirSync(join(import.meta.dirname, "../../docs/reference/schema"));
  expect(committed.sort()).toEqual([...generateSchemas().keys()].sort());
});

test("the schema of a snapshot rejects unknown fields and names its parts", () => {
  const schema = JSON.parse(generateSchemas().get("cluster-snapshot.json")!);
  expect(schema).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    additionalProperties: false,
  });
  expect(schema.required).toEqual([
    ...["formatVersion", "clusterId", "namespaces", "exports", "imports", "findings"],
  ]);
  expect(Object.keys(schema.$defs).sort()).toEqual([
    "ClusterZone",
    "Endpoint",
    "EndpointGroup",
    "EndpointGroups",
    "EndpointPort",
    "ExportedService",
    "Finding",
    "ImportedService",
    "LocalService",
    "ServicePort",
  ]);
});
