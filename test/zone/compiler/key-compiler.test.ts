import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { sourceOf } from "../../../src/zone/compile.ts";
import { compileKey, type KeySource } from "../../../src/zone/compiler/key-compiler.ts";
import type { LocalObject, NameKey } from "../../../src/zone/compiler/name-keys.ts";
import { compileSegment } from "../../../src/zone/compiler/segment-compiler.ts";
import { createContext } from "../../../src/zone/compiler/zone-context.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../../../src/zone/options.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { HeldSources } from "../../../src/zone/reverse/held-sources.ts";
import { runLabels } from "../../../src/zone/segment/blocks/label-run.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { namesIn } from "./names-in.ts";

const KEY = "shop/web";
const web = exported({
  headless: true,
  endpoints: endpoints({ address: "10.1.0.1" }, { address: "10.1.0.2" }),
});
const own = local({ clusterIPs: ["10.96.0.1"] });
const east = snapshot("east", {
  clusterZone: { name: "east.test", pods: "verified" },
  exports: { [KEY]: web },
  services: { [KEY]: own },
});
const service: LocalObject = { clusterId: "east", kind: "service", key: KEY };
const federations = [{ name: "fed", zone: "fed" }];
const host = (name: string) => ({ name, addresses: ["192.0.2.1"] });

function from(snapshots: readonly ClusterSnapshot[], options: Partial<ZoneOptions> = {}): KeySource {
  const source = sourceOf(mergeClusterset(snapshots));
  return {
    context: createContext(source, { ...DEFAULT_ZONE_OPTIONS, ...options }),
    ...{ source, sources: new HeldSources(), pace: new Pace() },
    clusters: new Map(source.clusters.map((cluster) => [cluster.clusterId, cluster])),
  };
}

const nameKey = (key: string, locals: readonly LocalObject[] = []): NameKey => ({
  ...{ key, hash: 0, weight: 1, locals, compiled: undefined },
});
const build = (source: KeySource, locals: readonly LocalObject[] = [], key = KEY) =>
  drain(compileKey(source, nameKey(key, locals)));

function namesOf(source: KeySource, locals: readonly LocalObject[] = [], key = KEY): string[] {
  const { branch } = drain(compileSegment(source, [nameKey(key, locals)], () => true));
  return namesIn(branch.segment!);
}

describe("a key is compiled in the trees in which it may have names", () => {
  it.each<[string, KeySource, LocalObject[], string[]]>([
    ["that of the clusterset", from([east]), [], ["clusterset"]],
    ["those of federations", from([east], { federations }), [], ["clusterset", "federation:fed."]],
    ["that of a cluster with an object", from([east]), [service], ["clusterset", "local:east"]],
    [
      "that of a host",
      from([east], { hosts: [host("a.web.shop.svc.east.test")] }),
      [],
      ["clusterset", "local:east"],
    ],
    ["none that is not served", from([east]), [{ ...service, clusterId: "west" }], ["clusterset"]],
  ])("%s", (_, source, locals, expected) => {
    expect(build(source, locals).block.source.trees).toEqual(expected);
  });

  it("none of the clusterset without a service there", () => {
    const source = from([{ ...east, exports: {} }], { federations });
    expect(build(source, [service]).block.source.trees).toEqual(["local:east"]);
    expect(build(source).block.source.trees).toEqual([]);
  });
});

describe("the names of a key", () => {
  it("are those of the service in the clusterset and of the object in its cluster's zone", () => {
    const clusterset = [
      "clusterset 10-1-0-1.east.web.shop.svc records",
      "clusterset 10-1-0-2.east.web.shop.svc records",
      "clusterset east.web.shop.svc",
      "clusterset web.shop.svc records",
    ];
    const withoutPorts = (names: readonly string[]) => names.filter((name) => !name.includes("_"));
    expect(withoutPorts(namesOf(from([east])))).toEqual(clusterset);
    expect(withoutPorts(namesOf(from([east]), [service]))).toEqual([
      ...clusterset,
      "local:east web.shop.svc records",
    ]);
  });

  const alone = { ...east, exports: {} };
  const withoutZone = { clusterId: "east", zones: [], namespaces: new Set<string>() };
  it.each<[string, Partial<KeySource>, number]>([
    ["exist where its cluster has a zone", {}, 1],
    ["do not where its cluster is not live", { clusters: new Map() }, 0],
    ["do not where its cluster wants no zone any more", { clusters: new Map([["east", withoutZone]]) }, 0],
    [
      "do not where its cluster's zone is not served",
      from([{ ...alone, clusterZone: { name: "clusterset.local", pods: "verified" } }]),
      0,
    ],
  ])("of an object %s", (_, parts, expected) => {
    const { branch } = drain(
      compileSegment({ ...from([alone]), ...parts }, [nameKey(KEY, [service])], () => true),
    );
    expect(namesIn(branch.segment!)).toHaveLength(expected);
  });

  it("are of the objects of their kind: a Service with an address as its name is no pod, nor the other way round", () => {
    const services = { "shop/10.2.0.1": own, [KEY]: own };
    const source = from([{ ...east, exports: {}, services, pods: { "shop/10.2.0.1": {} } }]);
    const pod: LocalObject = { clusterId: "east", kind: "pod", key: "shop/10.2.0.1" };
    expect(build(source, [pod], "shop/10-2-0-1").findings).toEqual([]);
    expect(build(source, [service]).findings).toEqual([]);
    expect(namesOf(source, [pod], "shop/10-2-0-1")).toEqual(["local:east 10-2-0-1.shop.pod records"]);
    const misnamed: LocalObject = { ...pod, kind: "service" };
    expect(build(source, [misnamed], pod.key).findings.map(({ reason }) => reason)).toEqual(["InvalidName"]);
  });

  it("are compiled once for each cluster, however many objects it has", () => {
    const services = {
      [KEY]: own,
      "shop/other": local({ serviceType: "ExternalName", externalName: "", ownedName: "a.web" }),
    };
    const source = from([{ ...east, exports: {}, services }]);
    const { findings } = build(source, [{ ...service, key: "shop/other" }, service]);
    expect(findings.map(({ reason }) => reason)).toEqual(["InvalidExternalName"]);
  });

  it("of a host exist in every view, and so do those above it up to its namespace", () => {
    const hosts = [host("a.b.gw.shop.svc.clusterset.local"), host("db.shop.svc.clusterset.local")];
    const source = from([snapshot("east")], { hosts });
    expect(namesOf(source, [], "shop/gw")).toEqual([
      "clusterset a.b.gw.shop.svc everywhere records",
      "clusterset b.gw.shop.svc everywhere",
      "clusterset gw.shop.svc everywhere",
    ]);
    expect(namesOf(source, [], "shop/db")).toEqual(["clusterset db.shop.svc everywhere records"]);
    expect(build(source, [], "shop/gw").stems).toEqual([
      { tree: "clusterset", labels: ["shop", "svc"], isEverywhere: true },
    ]);
  });

  it("of a host in a federation are below its namespace there", () => {
    const source = from([snapshot("east")], { federations, hosts: [host("gw.shop.fed.svc.fed")] });
    expect(namesOf(source, [], "shop/gw")).toEqual(["federation:fed. gw.shop.fed.svc everywhere records"]);
    expect(build(source, [], "shop/gw").stems.map(({ labels }) => labels)).toEqual([["shop", "fed", "svc"]]);
  });

  it("want reverse names, with one source for all addresses of a cluster", () => {
    const wanted = [...build(from([east])).reverse].flatMap(([, candidates]) =>
      candidates.map((one) => one.source),
    );
    expect(wanted).toHaveLength(2);
    expect(wanted[1]).toBe(wanted[0]);
    expect(wanted[0]).toMatchObject({ name: "web", namespace: "shop", claimants: ["east"] });
  });
});

describe("a segment", () => {
  const keys = ["shop/a", "shop/b", "shop/c"];
  const source = () => from([{ ...east, exports: Object.fromEntries(keys.map((key) => [key, web])) }]);

  /** Compiles keys, which are changed to have been compiled to what comes. @returns the segment and the keys that were built */
  function compile(given: readonly NameKey[], mayDiffer: (key: NameKey) => boolean, with_ = source()) {
    const { branch, built, blocks } = drain(compileSegment(with_, given, mayDiffer));
    for (const [key, block] of blocks)
      key.compiled = { ...(key.compiled ?? ({} as NonNullable<NameKey["compiled"]>)), block };
    return { segment: branch.segment!, built: [...built.keys()].map(({ key }) => key), blocks };
  }

  it("has its keys in their order, whatever the order of what is given; each block is that of its key", () => {
    const given = keys.map((key) => nameKey(key));
    const { segment, built, blocks } = compile([given[2]!, given[0]!, given[1]!], () => false);
    expect(built).toEqual(keys);
    expect([...blocks.keys()]).toEqual(given);
    const ranges = [...blocks.values()].map(({ start, end }) => [start, end]);
    expect(ranges.slice(1).map(([start]) => start)).toEqual(ranges.slice(0, -1).map(([, end]) => end));
    const names = ranges.map(([start]) => [...runLabels(segment.bytes, segment.runOf(start!))].join("."));
    expect(names).toEqual(["a.shop.svc", "b.shop.svc", "c.shop.svc"]);
  });

  it("is copied but for the keys that may differ, and equals what compiling all of them gives", () => {
    const given = keys.map((key) => nameKey(key));
    const first = compile(given, () => false);
    const merged: string[] = [];
    const { source: zone, ...rest } = source();
    const watched = {
      ...rest,
      source: {
        ...zone,
        service: (key: string) => {
          merged.push(key);
          return zone.service(key);
        },
      },
    };
    const again = compile(given, ({ key }) => key === "shop/b", watched);
    expect([again.built, merged]).toEqual([["shop/b"], ["shop/b"]]);
    expect(again.segment.hash).toBe(first.segment.hash);
    expect(compile(given, () => false).built).toEqual([]);
  });

  it("is compiled again where its bytes cannot be had", () => {
    const given = keys.map((key) => nameKey(key));
    const { segment } = compile(given, () => false);
    const lost = { kind: "segment" as const, hash: segment.hash, segment: undefined, page: undefined };
    for (const key of given.slice(1)) key.compiled!.block = { ...key.compiled!.block, branch: lost };
    const again = compile(given, () => false);
    expect(again.built).toEqual(["shop/b", "shop/c"]);
    expect(again.segment.hash).toBe(segment.hash);
  });

  it("reads each segment from which it copies once", () => {
    const given = keys.map((key) => nameKey(key));
    const { segment } = compile(given, () => false);
    let reads = 0;
    const read = {
      ...{ kind: "segment" as const, hash: segment.hash, page: undefined },
      get segment() {
        reads++;
        return Segment.load(segment.bytes, segment.hash);
      },
      set segment(_) {},
    };
    for (const key of given) key.compiled!.block = { ...key.compiled!.block, branch: read };
    expect(compile(given, () => false).built).toEqual([]);
    expect(reads).toBe(1);
  });
});
