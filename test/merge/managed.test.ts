import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { endpoints, exporting, importing, port, snapshot, web } from "./fixtures.ts";

const managed = (clusterId: string, ips: string[], parts = {}) =>
  importing(clusterId, { managed: true, ips, ...parts });
const withPods = (clusterId: string, address: string) =>
  exporting(clusterId, { endpoints: endpoints({ address }) });

describe("a ServiceImport that the cluster's worker made from the desired state", () => {
  it("gives its ips to that cluster's view alone", () => {
    const { outside, byCluster } = web(
      mergeClusterset([withPods("a", "10.0.0.1"), managed("b", ["10.96.0.7"]), snapshot("c")]),
    );
    expect(outside.addresses).toEqual(["10.0.0.1"]);
    expect(Object.fromEntries(byCluster)).toEqual({
      b: { source: "ClusterSetIP", addresses: ["10.96.0.7"], reportedBy: ["b"] },
    });
  });

  it("gives them to an exporter's own view, too, and not outside", () => {
    const both = { ...withPods("a", "10.0.0.1"), imports: managed("a", ["10.96.0.7"]).imports };
    const { outside, byCluster } = web(mergeClusterset([both, withPods("b", "10.1.0.1")]));
    expect(outside.addresses).toEqual(["10.0.0.1", "10.1.0.1"]);
    expect([...byCluster.keys()]).toEqual(["a"]);
  });

  it("makes no service exist, and is no finding without its namespace", () => {
    expect(mergeClusterset([managed("a", ["10.96.0.7"])]).services).toEqual([]);
    const gone = { ...managed("a", ["10.96.0.7"]), namespaces: {} };
    expect(mergeClusterset([gone, exporting("b")]).findings).toEqual([]);
  });

  it("declares nothing, reports no endpoints and has no part, whatever it pushes and whatever grant it has", () => {
    const odd = {
      type: "Headless",
      ports: [port("other", 99)],
      sessionAffinity: "ClientIP",
      endpoints: { far: endpoints({ address: "10.9.0.1" }), a: endpoints({ address: "10.9.0.2" }) },
    };
    const importer = importing("c", { ports: [port("http", 80)], ips: ["10.2.0.2"] });
    const world = (own: object) => [importer, managed("b", ["10.96.0.7"], own)];
    const options = { grants: new Map([["b", "*" as const]]) };
    const service = web(mergeClusterset(world(odd), options));
    expect(service).toEqual(web(mergeClusterset(world({}), options)));
    expect(service).toMatchObject({ type: "ClusterSetIP", ports: [port("http", 80)], reportedBy: ["c"] });
    expect([...service.since.keys()]).toEqual(["c"]);
    expect(service.outside.addresses).toEqual(["10.2.0.2"]);
  });

  it("changes nothing of a headless service", () => {
    const headless = exporting("a", { headless: true, endpoints: endpoints({ address: "10.0.0.1" }) });
    const alone = web(mergeClusterset([headless, snapshot("b")]));
    expect(web(mergeClusterset([headless, managed("b", ["10.96.0.7"])]))).toEqual(alone);
  });

  it("is a finding with an address that is none", () => {
    const { findings } = mergeClusterset([exporting("a"), managed("b", ["none"])]);
    expect(findings).toMatchObject([{ clusterId: "b", reason: "InvalidAddress", kind: "ServiceImport" }]);
  });

  it("is hidden with its addresses, and where the exporters are hidden", () => {
    const world = [withPods("a", "10.0.0.1"), withPods("c", "10.1.0.1"), managed("b", ["10.96.0.7"])];
    const seen = (visibility: object) => mergeClusterset(world, {}, { visibility }).services;
    expect(seen({ clusters: ["b"] })).toEqual([]);
    expect(seen({ clusters: ["a", "b"] })[0]!.byCluster.get("b")!.addresses).toEqual(["10.96.0.7"]);
    expect(seen({ addressSources: ["Endpoint"] })[0]!.byCluster.size).toBe(0);
    expect(seen({ addressRanges: ["10.0.0.0/16"] })[0]!.byCluster.size).toBe(0);
  });
});
