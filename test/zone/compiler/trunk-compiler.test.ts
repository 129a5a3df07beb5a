import { describe, expect, it } from "vitest";
import type { Stem } from "../../../src/zone/compiler/stems.ts";
import { compileFrame, compileTrunk } from "../../../src/zone/compiler/trunk-compiler.ts";
import { createContext } from "../../../src/zone/compiler/zone-context.ts";
import { Page } from "../../../src/zone/generation/directory.ts";
import { Generation } from "../../../src/zone/generation/generation.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../../../src/zone/options.ts";
import type { SourceCluster, ZoneSource } from "../../../src/zone/zone-source.ts";
import { namesIn } from "./names-in.ts";
import { unzoned, zoned } from "./own-zones.ts";

const sourceOf = (clusters: readonly SourceCluster[], withAbsent = false) =>
  ({ clusters, withAbsent }) as ZoneSource;

/** Runs a compilation. @returns its result, and how many steps it took */
function run<Result>(steps: Generator<void, Result>): { readonly result: Result; readonly count: number } {
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return { result: step.value, count };
  }
}

function compile(
  clusters: readonly SourceCluster[],
  options: Partial<ZoneOptions> = {},
  stems: readonly Stem[] = [],
  withAbsent = false,
) {
  const source = sourceOf(clusters, withAbsent);
  const context = createContext(source, { ...DEFAULT_ZONE_OPTIONS, ...options });
  const { result: frame, count: frameSteps } = run(compileFrame(context, source));
  const { result: trunk, count: trunkSteps } = run(compileTrunk(context, frame, stems));
  return { frame, trunk, frameSteps, trunkSteps };
}

/** The records of the trunk: `<name> <ttl> <type> <data>`, without SOA and NS. */
function recordsIn({ trunk }: ReturnType<typeof compile>, view?: string): string[] {
  const generation = new Generation(1, trunk, emptyPage(), emptyPage());
  return trunk.frame.zones
    .flatMap(({ name: zone }) => [...listRecords(generation, { zone, view })])
    .filter(({ type }) => type !== "SOA" && type !== "NS")
    .map(({ name, ttl, type, rdata }) => `${name} ${ttl} ${type} ${rdata}`)
    .sort();
}

const emptyPage = () => Page.of<never>([]);

describe("the frame", () => {
  it("has the views of clusters in their order, then of absent ones, then of localities; namespaces sorted, and which views lack them", () => {
    const clusters = [unzoned("west"), { ...unzoned("east"), namespaces: new Set(["ops", "data"]) }];
    const options = {
      federations: [{ name: "fed", zone: "fed" }],
      localities: [{ region: "eu" }],
      negativeTtl: 77,
    };
    const { frame } = compile(clusters, options, [], true);
    expect(frame.views).toEqual(["west", "east", "*", "region:eu"]);
    expect(frame.namespaces).toEqual(["data", "ops", "shop"]);
    const lacking = frame.views.map((_, view) =>
      frame.namespaces.filter((__, index) => frame.lacks(view, index)),
    );
    expect(lacking).toEqual([["data", "ops"], ["shop"], [], []]);
    expect([frame.negativeTtl, frame.trees.map(({ key }) => key)]).toEqual([
      77,
      ["clusterset", "federation:fed."],
    ]);
    expect(compile(clusters, options).frame.views).toEqual(["west", "east", "region:eu"]);
  });

  it.each([
    ["disabled", false],
    ["verified", false],
    ["insecure", true],
  ] as const)("with names of pods that are %s: has a marker for names of any pod is %s", (pods, expected) => {
    expect(compile([unzoned("a"), zoned("east", { zone: { pods } })]).frame.podNames).toBe(expected);
    expect(compile([]).frame.podNames).toBe(false);
  });

  it("is compiled in a step for each cluster and each view", () => {
    expect(compile([]).frameSteps).toBe(1);
    expect(compile(["a", "b", "c"].map(unzoned)).frameSteps).toBe(7);
  });
});

describe("the names that are shorter than a service", () => {
  it("are the apex, ns.dns, dns-version (2.2 of both specifications) and svc of each tree", () => {
    const compiled = compile([zoned("east", { zone: { pods: "disabled" } })], {
      federations: [{ name: "fed", zone: "fed" }],
      nameServerAddresses: ["192.0.2.53", "fd00::53"],
      ttl: 9,
    });
    const named = (tree: string) => [`${tree} @`, `${tree} dns`, `${tree} ns.dns records`, `${tree} svc`];
    expect(namesIn(compiled.trunk.stems)).toEqual(
      [
        ...["clusterset", "local:east", "federation:fed."].flatMap(named),
        ...["clusterset", "local:east"].map((tree) => `${tree} dns-version records`),
      ].sort(),
    );
    expect(recordsIn(compiled, "east")).toEqual(
      [
        ...["clusterset.local.", "east.test.", "fed."].flatMap((zone) => [
          `ns.dns.${zone} 9 A 192.0.2.53`,
          `ns.dns.${zone} 9 AAAA fd00::53`,
        ]),
        'dns-version.clusterset.local. 28800 TXT "1.0.0"',
        'dns-version.east.test. 28800 TXT "1.0.1"',
      ].sort(),
    );
  });

  it.each<["disabled" | "verified" | "insecure", string[]]>([
    ["disabled", []],
    ["verified", ["ops.pod stem", "pod", "shop.pod stem"]],
    ["insecure", ["ops.pod stem records", "pod", "shop.pod stem records"]],
  ])(
    "include pod and its namespaces where names of pods are %s (DNS-based service discovery, 2.6)",
    (pods, expected) => {
      const namespaces = ["shop", "ops", "Not-a-namespace"];
      const { trunk } = compile([zoned("east", { namespaces, zone: { pods } })]);
      const below = namesIn(trunk.stems).filter((name) => /^local:east .*pod/.test(name));
      expect(below).toEqual(expected.map((name) => `local:east ${name}`));
    },
  );

  it("do not depend on the order of namespaces", () => {
    const hashOf = (...namespaces: string[]) =>
      compile([zoned("east", { namespaces, zone: { pods: "insecure" } })]).trunk.stems.hash;
    expect(hashOf("a", "b", "c")).toBe(hashOf("c", "a", "b"));
  });

  it("include hosts without a namespace, which every view has, and so do the names above them", () => {
    const compiled = compile([unzoned("east")], {
      hosts: [
        { name: "a.gw.clusterset.local", addresses: ["192.0.2.1"] },
        { name: "a.gw.clusterset.local", addresses: ["192.0.2.2"] },
        { name: "gw.shop.svc.clusterset.local", addresses: ["192.0.2.3"] },
        { name: "svc.clusterset.local", addresses: ["192.0.2.4"] },
      ],
      ttl: 8,
    });
    expect(namesIn(compiled.trunk.stems).filter((name) => /gw|svc/.test(name))).toEqual([
      "clusterset a.gw everywhere records",
      "clusterset gw everywhere",
      "clusterset svc everywhere records",
    ]);
    expect(recordsIn(compiled).filter((line) => / A /.test(line))).toEqual([
      "a.gw.clusterset.local. 8 A 192.0.2.1",
      "a.gw.clusterset.local. 8 A 192.0.2.2",
      "svc.clusterset.local. 8 A 192.0.2.4",
    ]);
  });

  it("include namespaces; of trees that are served", () => {
    const stem = (tree: string, name: string, isEverywhere = false): Stem => ({
      ...{ tree, labels: name.split("."), isEverywhere },
    });
    const { trunk } = compile([unzoned("east")], {}, [
      stem("local:west", "shop.svc"),
      stem("clusterset", "shop.svc"),
      stem("clusterset", "ops.svc", true),
    ]);
    expect(namesIn(trunk.stems).filter((name) => name.includes(".svc"))).toEqual([
      "clusterset ops.svc everywhere stem",
      "clusterset shop.svc stem",
    ]);
  });

  it("are compiled in steps of some hundred namespaces", () => {
    const stems = Array.from({ length: 4096 }, (_, index) => ({
      ...{ tree: "clusterset", labels: [`n${index}`, "svc"], isEverywhere: false },
    }));
    const few = compile([], {}, stems.slice(0, 1)).trunkSteps;
    const many = compile([], {}, stems).trunkSteps;
    expect(many - few).toBeGreaterThanOrEqual(8);
    expect(many - few).toBeLessThan(20);
  });
});
