import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { Page } from "../../../src/zone/generation/directory.ts";
import { Frame } from "../../../src/zone/generation/frame.ts";
import { Trunk } from "../../../src/zone/generation/generation.ts";
import { readRoot } from "../../../src/zone/generation/root.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { createBlob, FormatError } from "../../../src/zone/segment/blob.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { BlobKind } from "../../../src/zone/segment/layout.ts";
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
  it("has parts that say what they are not", () => {
    const other = createBlob(BlobKind.segment, 20).bytes;
    expect(() => Page.load(other, "", true)).toThrow("these bytes are not a page");
    expect(() => Frame.load(other, "")).toThrow("these bytes are not a frame");
    expect(() => readRoot(other)).toThrow("these bytes are not a root");
    expect(() => Frame.load(createBlob(BlobKind.frame, 16).bytes, "")).toThrow("a frame has no tables");
  });
});
