import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { Frame, type FrameTables } from "../../../src/zone/generation/frame.ts";
import { Trunk } from "../../../src/zone/generation/generation.ts";
import { BLOB_WORDS, BlobHeader } from "../../../src/zone/segment/layout.ts";
import { snapshot } from "../../merge/fixtures.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const HASH = "0123456789abcdef0123456789abcdef";
const TABLES_AT = BLOB_WORDS * 4 + 4;

describe("a frame", () => {
  const tables: FrameTables = {
    trees: ["clusterset", "local:b"],
    zones: [
      { name: "clusterset.local.", tree: 0, byView: [] },
      { name: "cluster.local.", tree: -1, byView: [[1, 1]] },
    ],
    views: ["a", "b"],
    namespaces: Array.from({ length: 9 }, (_, index) => `n${index}`),
    podNames: false,
    negativeTtl: 30,
  };
  const lacking = new Set(["a n8", "b n0"]);
  const lacks = (view: string, namespace: string) => lacking.has(`${view} ${namespace}`);
  const written = (all: FrameTables, isLacking = lacks) => drain(Frame.write(all, isLacking));
  const load = (changed: object = {}) => Frame.load(written({ ...tables, ...changed } as FrameTables), HASH);

  const zone = { name: "clusterset.local.", tree: 0, byView: [] };
  const withZone = (changed: object) => ({ zones: [{ ...zone, ...changed }, tables.zones[1]] });
  it.each([
    [{ trees: [] }, "a frame has no table of trees"],
    [{ trees: "clusterset" }, "a frame has no table of trees"],
    [{ trees: ["clusterset", "clusterset"] }, "a frame has no table of trees"],
    [{ views: undefined }, "a frame has no table of views"],
    [{ namespaces: [1] }, "a frame has no table of namespaces"],
    [{ podNames: "yes" }, "a frame does not say whether there are pod names"],
    [{ negativeTtl: -1 }, "a frame has no negative TTL"],
    [{ negativeTtl: 0.5 }, "a frame has no negative TTL"],
    [{ negativeTtl: 0x8000_0000 }, "a frame has no negative TTL"],
    [{ zones: {} }, "a frame has no table of zones"],
    [{ zones: [null] }, "a frame has no table of zones"],
    [withZone({ name: 1 }), "a frame has no table of zones"],
    [withZone({ tree: 2 }), "a frame has no table of zones"],
    [withZone({ tree: -2 }), "a frame has no table of zones"],
    [withZone({ byView: {} }), "a frame has no table of zones"],
    [withZone({ byView: [1] }), "a frame has no table of zones"],
    [withZone({ byView: [[2, 0]] }), "a frame has no table of zones"],
    [withZone({ byView: [[0, 2]] }), "a frame has no table of zones"],
    [withZone({ byView: [[0, -1]] }), "a frame has no table of zones"],
  ])("is rejected with %j", (changed, message) => {
    expect(() => Frame.load(withTables({ ...tables, ...changed }), HASH)).toThrow(new RegExp(`^${message}$`));
  });

  it.each([
    withZone({ byView: [[0, 1]] }),
    withZone({ tree: -1, byView: [[0, 0]] }),
    { negativeTtl: 0x7fff_ffff },
    { negativeTtl: 0 },
    { podNames: true },
  ])("is loaded with %j", (changed) => {
    expect(() => load({ zones: [zone, ...tables.zones], ...changed })).not.toThrow();
  });

  it("is rejected with a tree that no zone has, or a zone whose name is malformed", () => {
    expect(() => load({ zones: [zone] })).toThrow("tree local:b has no zone");
    expect(() => load(withZone({ name: "a..b" }))).toThrow(/^a frame has no table of zones: ./);
  });

  it("is rejected with tables that are not JSON, or end behind it, or do not fit its length", () => {
    const bytes = written(tables);
    expect(() => Frame.load(bytes.with(TABLES_AT, 0), HASH)).toThrow("the tables of a frame are not JSON");
    const longer = bytes.slice();
    new Uint32Array(longer.buffer)[BLOB_WORDS] = bytes.length;
    expect(() => Frame.load(longer, HASH)).toThrow("the tables of a frame end behind it");
    const more = new Uint8Array(bytes.length + 4);
    more.set(bytes);
    new Uint32Array(more.buffer)[BlobHeader.totalBytes] = more.length;
    expect(() => Frame.load(more, HASH)).toThrow("a frame has a wrong length");
    expect(() => Frame.load(withTables(null), HASH)).toThrow("a frame has no table of trees");
  });

  /** A frame with any JSON as its tables, and nothing behind them. */
  function withTables(value: unknown): Bytes {
    const json = Buffer.from(JSON.stringify(value));
    const bytes = new Uint8Array(Math.ceil((TABLES_AT + json.length) / 4) * 4);
    bytes.set(written(tables).subarray(0, TABLES_AT));
    bytes.set(json, TABLES_AT);
    const words = new Uint32Array(bytes.buffer);
    words[BlobHeader.totalBytes] = bytes.length;
    words[BLOB_WORDS] = json.length;
    return bytes;
  }
});

it("stems with other trees than the frame are rejected", () => {
  const one = compileGeneration(mergeClusterset([snapshot("east")])).generation;
  const two = compileGeneration(mergeClusterset([snapshot("east")]), {
    federations: [{ name: "fed", zone: "federation" }],
  }).generation;
  expect(() => new Trunk(one.frame, two.stems)).toThrow("the stems have other trees than the frame");
  expect(new Trunk(one.frame, one.stems).nameServers).toHaveLength(1);
});
