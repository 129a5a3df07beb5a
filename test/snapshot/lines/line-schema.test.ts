import { describe, expect, it } from "vitest";
import { SnapshotLine } from "../../../src/snapshot/lines/line-schema.ts";

const SHA = "0123456789abcdefABCDEF".padEnd(64, "0");
const EXPORT = { type: "ClusterSetIP", ports: [] };

// Of each kind of entry its own suite validates the whole value; a patch may be any object.
describe("a line of a push by the JSON Schema", () => {
  it.each<[string, unknown]>([
    ["the first line", { formatVersion: 2, clusterId: "east" }],
    ["a namespace", ["namespaces", "shop", {}]],
    ["a patch of an export", ["exports", "shop/web", EXPORT]],
    ["an export that is removed", ["exports", "shop/web", null]],
    ["the topology", ["topology", { region: "eu", zones: ["eu-a"] }]],
    ["a patch of the topology", ["topology", { region: null }]],
    ["a topology that is removed", ["topology", null]],
    ["the last line", { lines: 1, sha256: SHA }],
  ])("may be %s", (_, line) => {
    expect(SnapshotLine.parse(line)).toEqual(line);
  });

  it.each<[string, unknown]>([
    ["a first line of another format", { formatVersion: 1, clusterId: "east" }],
    ["a first line without a cluster", { formatVersion: 2 }],
    ["a first line with another member", { formatVersion: 2, clusterId: "east", zone: "a" }],
    ["an entry of no collection", ["secrets", "shop/web", {}]],
    ["an entry without a value", ["exports", "shop/web"]],
    ["an entry whose value is a text", ["exports", "shop/web", "web"]],
    ["an entry whose key is a number", ["exports", 1, {}]],
    ["a topology that is a text", ["topology", "eu"]],
    ["a topology with a key", ["topology", "shop/web", {}]],
    ["a last line of no lines", { lines: 0, sha256: SHA }],
    ["a last line of half a line", { lines: 1.5, sha256: SHA }],
    ["a last line without a hash", { lines: 1 }],
    ["a hash that is too short", { lines: 1, sha256: SHA.slice(1) }],
    ["a hash that is too long", { lines: 1, sha256: `${SHA}0` }],
    ["a hash of other characters", { lines: 1, sha256: `g${SHA.slice(1)}` }],
    ["a last line with another member", { lines: 1, sha256: SHA, clusterId: "east" }],
    ["an empty line", []],
  ])("is not %s", (_, line) => {
    expect(SnapshotLine.safeParse(line).success).toBe(false);
  });
});
