import { describe, expect, it } from "vitest";
import { RecordType } from "../../../src/dns/codes.ts";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { Page } from "../../../src/zone/generation/directory.ts";
import { Frame } from "../../../src/zone/generation/frame.ts";
import { Generation, Trunk } from "../../../src/zone/generation/generation.ts";
import { readRoot } from "../../../src/zone/generation/root.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { createBlob, FormatError } from "../../../src/zone/segment/blob.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { runLabels } from "../../../src/zone/segment/blocks/label-run.ts";
import { BlobKind, NodeFlag } from "../../../src/zone/segment/layout.ts";
import { RecordSets } from "../../../src/zone/segment/record-sets.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";
import { local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";

const compile = (options: Partial<ZoneOptions> = {}) =>
  compileGeneration(
    mergeClusterset([
      snapshot("east", {
        namespaces: { ops: {}, svc: {} },
        clusterZone: { name: "cluster.local", pods: "disabled" },
        exports: { "ops/log": exported({ headless: true, endpoints: endpoints({ address: "10.1.0.9" }) }) },
        services: { "ops/own": local({ clusterIPs: ["10.96.0.1"], ports: [] }) },
      }),
      snapshot("west", {
        exports: { "shop/web": exported({ headless: true, endpoints: endpoints({ address: "10.2.0.9" }) }) },
      }),
    ]),
    options,
  ).generation;

/** Stems with these names below the apex of each tree. */
function stemsOf(trees: readonly string[], names: readonly string[], withApexes: boolean): Segment {
  const builder = new SegmentBuilder(trees);
  for (const [apex] of trees.entries())
    for (const name of names)
      name.split(".").reduceRight((parent, label) => builder.nodes.child(parent, label), apex);
  const pace = new Pace();
  const block = drain(builder.block(pace, withApexes));
  return Segment.load(drain(joinBlocks([block], pace, trees)).bytes, "");
}

describe("the trunk of a generation", () => {
  it("has the apex and the name server of each tree", () => {
    const { frame, stems, trunk } = compile();
    expect(frame.trees.map(({ key }) => key)).toEqual(["clusterset", "local:east"]);
    const labels = (node: number): string[] =>
      node < 0 ? [] : [...runLabels(stems.bytes, stems.runOf(node)), ...labels(stems.parentOf(node))];
    for (const [tree] of frame.trees.entries()) {
      const [apex, server] = [trunk.apexes[tree]!, trunk.nameServers[tree]!];
      expect([labels(apex), stems.treeAbove(apex)]).toEqual([[], tree]);
      expect([labels(server), stems.treeAbove(server)]).toEqual([["ns", "dns"], tree]);
    }
    expect([trunk.apexes.length, trunk.nameServers.length]).toEqual([2, 2]);
  });

  it("says which view lacks the namespace that a stem of the clusterset is, and of no other name", () => {
    const { frame, stems, trunk } = compile();
    const lacked = [...stems.nodes()].flatMap((node) => {
      const name = `${stems.trees[stems.treeAbove(node)]} ${runLabels(stems.bytes, stems.runOf(node))}`;
      const views = [undefined, "east", "west"].filter((view) => trunk.lacks(frame.viewOf(view), node));
      return views.map((view) => `${name} ${view}`);
    });
    expect(lacked.sort()).toEqual(["clusterset ops west", "clusterset shop east"]);
    const flagged = [...stems.nodes()].filter((node) => stems.hasFlag(node, NodeFlag.stem));
    expect(flagged).toHaveLength(3);
  });

  it("is rejected with stems of other trees, be there as many", () => {
    const withZone = (zone: string) => compile({ federations: [{ name: "fed", zone }] });
    const { frame } = withZone("one");
    const message = "the stems have other trees than the frame";
    expect(() => new Trunk(frame, withZone("two").stems)).toThrow(new FormatError(message));
    expect(() => new Trunk(frame, compile().stems)).toThrow(new FormatError(message));
    expect(() => new Trunk(compile().frame, withZone("one").stems)).toThrow(new FormatError(message));
    expect(new Trunk(frame, withZone("one").stems).apexes).toHaveLength(3);
  });

  it("is rejected with stems that lack what every zone has", () => {
    const { frame } = compile();
    const trees = frame.trees.map(({ key }) => key);
    expect(new Trunk(frame, stemsOf(trees, ["ns.dns"], true)).nameServers).toHaveLength(2);
    expect(() => new Trunk(frame, stemsOf(trees, ["ns.dns"], false))).toThrow(
      new FormatError("a zone has no apex"),
    );
    for (const names of [[], ["dns"], ["dns.ns"]])
      expect(() => new Trunk(frame, stemsOf(trees, names, true))).toThrow(
        new FormatError("a zone has no name server"),
      );
  });
});

describe("a generation", () => {
  it("has as many bytes as its blobs", () => {
    const generation = compile();
    const { root, frame, stems, names, reverse } = generation;
    const blobs = [root, frame.bytes, stems.bytes, names.bytes, reverse.bytes];
    for (const { bytes } of [...generation.segments(), ...generation.reverseSegments()]) blobs.push(bytes);
    expect(generation.byteLength).toBe(blobs.reduce((sum, { length }) => sum + length, 0));
    expect(readRoot(root)).toEqual({
      ...{ frame: frame.hash, stems: stems.hash, names: names.hash, reverse: reverse.hash },
    });
  });

  it("has parts that say what they are not", () => {
    const other = createBlob(BlobKind.segment, 20).bytes;
    expect(() => Page.load(other, "", true)).toThrow("these bytes are not a page");
    expect(() => Frame.load(other, "")).toThrow("these bytes are not a frame");
    expect(() => readRoot(other)).toThrow("these bytes are not a root");
    expect(() => Frame.load(createBlob(BlobKind.frame, 16).bytes, "")).toThrow("a frame has no tables");
  });

  it("lists a record of several character-strings, and one of an unknown type by its number (RFC 3597)", () => {
    const { frame, names, reverse } = compile();
    const trees = frame.trees.map(({ key }) => key);
    const builder = new SegmentBuilder(trees);
    for (const [apex] of trees.entries()) builder.nodes.child(builder.nodes.child(apex, "dns"), "ns");
    const sets = new RecordSets();
    sets.addRdata(RecordType.TXT, Uint8Array.of(1, 97, 0, 2, 98, 99), 7, 0);
    sets.addRdata(250, Uint8Array.of(1, 97), 7, 0);
    builder.setRecords(builder.nodes.child(0, "text"), sets);
    const block = drain(builder.block(new Pace(), true));
    const stems = Segment.load(drain(joinBlocks([block], new Pace(), trees)).bytes, "");
    const generation = new Generation(1, new Trunk(frame, stems), names, reverse);
    const lines = [...listRecords(generation)].filter(({ name }) => name.startsWith("text."));
    expect(lines.map(({ ttl, type, rdata }) => [ttl, type, rdata])).toEqual([
      [7, "TXT", '"a" "" "bc"'],
      [7, "TYPE250", '"a"'],
    ]);
  });
});
