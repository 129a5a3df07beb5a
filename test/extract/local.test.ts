import { describe, expect, test } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { OWNED_NAME_ANNOTATION } from "../../src/extract/services/local-service.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import type { PodNames } from "../../src/snapshot/schema.ts";
import { UNDATED } from "../../src/snapshot/schema.ts";
import { namespace, object, ofImport, ofService, pod, service, serviceExport, slice } from "./objects.ts";

function optionsOf(pods: (typeof PodNames)["_output"] = "disabled") {
  return { clusterId: "east", clusterZone: { name: "cluster.local", pods } } as const;
}

function extract(objects: KubernetesObject[], pods?: (typeof PodNames)["_output"]) {
  const snapshot = extractSnapshot([namespace("shop"), ...objects], optionsOf(pods));
  expect(parseSnapshot(snapshot)).toEqual(snapshot);
  return snapshot;
}

const created = { creationTimestamp: "2026-01-02T03:04:05Z" };
const alias = (more: object, metadata: object = {}) => {
  const spec = { type: "ExternalName", externalName: "api.partner.example", ...more };
  return object("v1", "Service", "shop/partner", { spec }, { ...created, ...metadata });
};

describe("Services of the cluster (DNS-based service discovery 1.0.1)", () => {
  test("has every Service, exported or not, with the data of its records (2.3), of an ExternalName neither addresses nor endpoints (2.5)", () => {
    const spec = {
      clusterIPs: ["10.96.0.10", "fd00::10"],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    };
    const { services, exports, findings, clusterZone } = extract([
      object("v1", "Service", "shop/web", { spec }, created),
      slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
      alias({ clusterIP: "10.96.0.11", clusterIPs: ["10.96.0.11"] }),
      slice("shop/partner-1", ofService("partner"), [{ addresses: ["10.0.0.1"] }]),
    ]);
    expect(clusterZone).toEqual({ name: "cluster.local", pods: "disabled" });
    expect([exports, findings]).toEqual([{}, {}]);
    // Only endpoints of headless Services have records.
    const both = { createdAt: created.creationTimestamp, headless: false, endpoints: {} };
    expect(services).toEqual({
      "shop/web": { ...both, ...spec, serviceType: "ClusterIP" },
      "shop/partner": {
        ...both,
        serviceType: "ExternalName",
        ports: [],
        externalName: "api.partner.example",
      },
    });
  });

  test("every slice with the Service's label counts, as in CoreDNS; an export has only its own cluster's", () => {
    const labels = { ...ofService("web"), ...ofImport("web", "west") };
    const { services, exports } = extract([
      service("shop/web", { clusterIP: "None", clusterIPs: ["None"] }),
      serviceExport("shop/web"),
      slice("shop/by-hand", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
      slice("shop/derived", labels, [{ addresses: ["10.1.0.1"] }]),
    ]);
    const addresses = (of: { endpoints: Record<string, { members: object }> } | undefined) =>
      Object.values(of!.endpoints).flatMap(({ members }) => Object.keys(members));
    expect(addresses(services["shop/web"])).toEqual(["10.0.0.1", "10.1.0.1"]);
    expect(addresses(exports["shop/web"])).toEqual(["10.0.0.1"]);
  });

  test("counts as undated without a valid creation timestamp", () => {
    const offset = "2026-01-01T01:00:00+01:00";
    for (const [creationTimestamp, createdAt, reasons] of [
      [undefined, UNDATED, []],
      ["yesterday", UNDATED, ["InvalidTimestamp"]],
      [offset, offset, []],
    ] as const) {
      const dated = object("v1", "Service", "shop/web", {}, { creationTimestamp });
      const { services, findings } = extract([dated]);
      expect(services["shop/web"]).toMatchObject({ createdAt, serviceType: "ClusterIP" });
      expect(Object.values(findings).map(({ reason }) => reason)).toEqual(reasons);
    }
  });
});

describe("names of several labels (Multi-label subdomain support, Proposed solution)", () => {
  const annotated = (name: unknown) => ({ annotations: { [OWNED_NAME_ANNOTATION]: name } });

  test.each([
    ["spec.name", { name: "a.b" }, {}, "a.b"],
    ["the annotation, since API servers drop the field", {}, annotated("a.b"), "a.b"],
    ["spec.name before the annotation", { name: "a.b" }, annotated("c.d"), "a.b"],
    ["one label, which replaces metadata.name", { name: "other" }, {}, "other"],
    ["an empty name, which is ignored", { name: "" }, annotated(""), undefined],
    ["annotations that are not a mapping", {}, { annotations: "x" }, undefined],
  ])("%s", (_, spec, metadata, ownedName) => {
    const { services, findings } = extract([alias(spec, metadata)]);
    expect(findings).toEqual({});
    expect(services["shop/partner"]!.ownedName).toBe(ownedName);
  });

  test("must be valid DNS names", () => {
    const long = ["x".repeat(64), Array(65).fill("abc").join(".")];
    for (const name of ["a..b", ".a", "a.", "-a.b", "a_b.c", "a b", ...long, 7, { a: 1 }]) {
      const { services, findings } = extract([alias({ name })]);
      expect(Object.keys(findings), String(name)).toEqual(["Service/shop/partner/InvalidSpecName"]);
      expect(services["shop/partner"]).toMatchObject({ externalName: "api.partner.example" });
      expect(services["shop/partner"]?.ownedName).toBeUndefined();
    }
  });
});

describe("addresses of pods, as CoreDNS verifies them (2.6)", () => {
  const deleting = { deletionTimestamp: "2026-01-02T03:04:06Z" };
  const [one, six] = ["10.0.0.1", "fd00::1"];

  test.each<[string, object | undefined, string[], object?]>([
    ["every address", { podIP: one, podIPs: [{ ip: one }, { ip: six }] }, [one, six]],
    ["podIP alone, in a manifest", { podIP: one, podIPs: [] }, [one]],
    ["Pending, with an address", { phase: "Pending", podIP: one }, [one]],
    ["Succeeded", { phase: "Succeeded", podIP: one }, []],
    ["Failed", { phase: "Failed", podIP: one }, []],
    ["Unknown", { phase: "Unknown", podIP: one }, []],
    ["no status", undefined, []],
    ["null", { podIP: null }, []],
    ["empty elements", { podIPs: [{ ip: "" }, {}, { ip: null }, { ip: "::" }] }, ["::"]],
    ["the longest text of an address", { podIP: "f".repeat(45) }, ["f".repeat(45)]],
    ["being deleted", { podIP: one }, [], deleting],
  ])("%s", (_, status, addresses, metadata = {}) => {
    const { pods, findings } = extract([pod("shop/p", { ...status }, { ...metadata })], "verified");
    expect(Object.keys(pods)).toEqual(addresses.map((address) => `shop/${address}`));
    expect(findings).toEqual({});
  });

  test("an address of several pods (host network) leaves with the last of them", () => {
    const assembler = new SnapshotAssembler(optionsOf("verified"));
    const hosted = ["shop/a", "shop/b"].map((name) => pod(name, { podIPs: [{ ip: one }, { ip: one }] }));
    for (const each of [namespace("shop"), ...hosted]) assembler.upsert(each);
    const left = hosted.map((each) => {
      assembler.delete(each);
      return Object.keys(assembler.snapshot().pods);
    });
    expect(left).toEqual([[`shop/${one}`], []]);
  });

  test("lack those that are none, with a finding", () => {
    const wrong = ["a/b", "x10.0.0.2", "10.0.0.2x", ":", "f".repeat(46), 7];
    const odd = pod("shop/p", { podIPs: [one, ...wrong].map((ip) => ({ ip })) });
    const { pods, findings } = extract([odd], "verified");
    expect(Object.keys(pods)).toEqual([`shop/${one}`]);
    const { message } = findings["Pod/shop/p/InvalidPodAddress"]!;
    expect(message).toContain('status.podIPs holds "a/b"; it is left out; status.podIPs holds "x10.0.0.2"');
  });
});
