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
const dated = (place: string, spec: object, metadata: object = {}): KubernetesObject => {
  const usual = service(place, { ...spec });
  return { ...usual, metadata: { ...usual.metadata, ...created, ...metadata } };
};
const alias = (spec: object, metadata: object = {}) =>
  object(
    "v1",
    "Service",
    "shop/partner",
    { spec: { type: "ExternalName", externalName: "api.partner.example", ...spec } },
    { ...created, ...metadata },
  );

describe("a cluster without its own zone", () => {
  test("pushes no Services and pods of its own", () => {
    const objects = [namespace("shop"), service("shop/web"), pod("shop/web-0", { podIP: "10.0.0.1" })];
    const snapshot = extractSnapshot(objects, { clusterId: "east" });
    expect(snapshot).toMatchObject({ services: {}, pods: {}, findings: {} });
    expect(snapshot).not.toHaveProperty("clusterZone");
  });
});

describe("Services of the cluster (DNS-based service discovery 1.0.1)", () => {
  test("has every Service, exported or not, with the data of its records (2.3)", () => {
    const { services, exports, clusterZone } = extract([
      dated("shop/web", { clusterIPs: ["10.96.0.10", "fd00::10"] }),
      slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
    ]);
    expect(clusterZone).toEqual({ name: "cluster.local", pods: "disabled" });
    expect(exports).toEqual({});
    expect(services).toEqual({
      "shop/web": {
        createdAt: "2026-01-02T03:04:05Z",
        serviceType: "ClusterIP",
        headless: false,
        ports: [{ name: "http", protocol: "TCP", port: 80 }],
        clusterIPs: ["10.96.0.10", "fd00::10"],
        // Only endpoints of headless Services have records.
        endpoints: {},
      },
    });
  });

  test("every slice with the Service's label counts, as in CoreDNS; an export has only its own cluster's", () => {
    const { services, exports } = extract([
      service("shop/web", { selector: undefined, clusterIP: "None", clusterIPs: ["None"] }),
      serviceExport("shop/web"),
      slice("shop/by-hand", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
      slice("shop/derived", { ...ofService("web"), ...ofImport("web", "west") }, [
        { addresses: ["10.1.0.1"] },
      ]),
    ]);
    const addresses = (of: { endpoints: Record<string, { members: object }> } | undefined) =>
      Object.values(of!.endpoints).flatMap(({ members }) => Object.keys(members));
    expect(addresses(services["shop/web"])).toEqual(["10.0.0.1", "10.1.0.1"]);
    expect(addresses(exports["shop/web"])).toEqual(["10.0.0.1"]);
  });

  test("an ExternalName Service has neither addresses nor endpoints (2.5)", () => {
    const { services, findings } = extract([
      alias({ clusterIP: "10.96.0.11", clusterIPs: ["10.96.0.11"] }),
      slice("shop/partner-1", ofService("partner"), [{ addresses: ["10.0.0.1"] }]),
    ]);
    expect(findings).toEqual({});
    expect(services["shop/partner"]).toEqual({
      createdAt: "2026-01-02T03:04:05Z",
      serviceType: "ExternalName",
      headless: false,
      ports: [],
      externalName: "api.partner.example",
      endpoints: {},
    });
  });

  test.each([
    ["no creation timestamp", {}, UNDATED, []],
    ["an invalid one", { creationTimestamp: "yesterday" }, UNDATED, ["InvalidTimestamp"]],
    [
      "one with an offset",
      { creationTimestamp: "2026-01-01T01:00:00+01:00" },
      "2026-01-01T01:00:00+01:00",
      [],
    ],
  ])("%s", (_, metadata, createdAt, reasons) => {
    const bare = object("v1", "Service", "shop/web", { spec: {} }, metadata);
    const { services, findings } = extract([bare]);
    expect(services["shop/web"]).toMatchObject({ createdAt, serviceType: "ClusterIP" });
    expect(Object.values(findings).map(({ reason }) => reason)).toEqual(reasons);
  });
});

describe("names of several labels (Multi-label subdomain support, Proposed solution)", () => {
  const annotated = (name: unknown) => ({ annotations: { [OWNED_NAME_ANNOTATION]: name } });

  test.each([
    ["spec.name", { name: "my-service.my-cluster" }, {}, "my-service.my-cluster"],
    [
      "the annotation, since API servers drop the field",
      {},
      annotated("my-service.my-cluster"),
      "my-service.my-cluster",
    ],
    ["spec.name before the annotation", { name: "a.b" }, annotated("c.d"), "a.b"],
    ["one label, which replaces metadata.name", { name: "other" }, {}, "other"],
    ["an empty name, which is ignored", { name: "" }, annotated(""), undefined],
    ["annotations that are not a mapping", {}, { annotations: "x" }, undefined],
  ])("%s", (_, spec, metadata, ownedName) => {
    const { services, findings } = extract([alias(spec, metadata)]);
    expect(findings).toEqual({});
    expect(services["shop/partner"]!.ownedName).toBe(ownedName);
  });

  test.each([
    "a..b",
    ".a",
    "a.",
    "-a.b",
    "a_b.c",
    "a b",
    "x".repeat(64),
    Array(65).fill("abc").join("."),
    7,
    { a: 1 },
  ])('"Must be a valid DNS name": %j', (name) => {
    const { services, findings } = extract([alias({ name })]);
    expect(Object.keys(findings)).toEqual(["Service/shop/partner/InvalidSpecName"]);
    expect(services["shop/partner"]).toMatchObject({ externalName: "api.partner.example" });
    expect(services["shop/partner"]).not.toHaveProperty("ownedName");
  });
});

describe("addresses of pods, as CoreDNS verifies them (2.6)", () => {
  test.each([
    [
      "every address",
      { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
      {},
      ["shop/10.0.0.1", "shop/fd00::1"],
    ],
    ["podIP alone, in a manifest", { podIP: "10.0.0.1" }, {}, ["shop/10.0.0.1"]],
    ["Pending, with an address", { phase: "Pending", podIP: "10.0.0.1" }, {}, ["shop/10.0.0.1"]],
    ["no address yet", { phase: "Pending" }, {}, []],
    ["Succeeded", { phase: "Succeeded", podIP: "10.0.0.1" }, {}, []],
    ["Failed", { phase: "Failed", podIP: "10.0.0.1" }, {}, []],
    ["Unknown", { phase: "Unknown", podIP: "10.0.0.1" }, {}, []],
    ["no status", undefined, {}, []],
    ["null", { podIP: null }, {}, []],
    ["an empty text", { podIP: "" }, {}, []],
    ["an empty list", { podIPs: [], podIP: "10.0.0.1" }, {}, ["shop/10.0.0.1"]],
    ["empty elements", { podIPs: [{ ip: "" }, {}, { ip: null }, { ip: "::" }] }, {}, ["shop/::"]],
    ["the longest text of an address", { podIP: "f".repeat(45) }, {}, [`shop/${"f".repeat(45)}`]],
    ["being deleted", { podIP: "10.0.0.1" }, { deletionTimestamp: "2026-01-02T03:04:06Z" }, []],
  ])("%s", (_, status, metadata, expected) => {
    const { pods, findings } = extract([pod("shop/p", status, metadata)], "verified");
    expect({ pods: Object.keys(pods), findings }).toEqual({ pods: expected, findings: {} });
  });

  test("an address of several pods (host network) is removed with the last of them", () => {
    const assembler = new SnapshotAssembler(optionsOf("verified"));
    const pods = () => Object.keys(assembler.snapshot().pods);
    const [a, b] = ["shop/a", "shop/b"].map((place) =>
      pod(place, { podIP: "192.0.2.1", podIPs: [{ ip: "192.0.2.1" }, { ip: "192.0.2.1" }] }),
    );
    for (const each of [namespace("shop"), a!, b!]) assembler.upsert(each);
    expect(pods()).toEqual(["shop/192.0.2.1"]);
    assembler.delete(a!);
    expect(pods()).toEqual(["shop/192.0.2.1"]);
    assembler.upsert(pod("shop/b", { podIP: "192.0.2.2" }));
    expect(pods()).toEqual(["shop/192.0.2.2"]);
    assembler.delete(namespace("shop"));
    expect(pods()).toEqual([]);
    assembler.upsert(namespace("shop"));
    expect(pods()).toEqual(["shop/192.0.2.2"]);
  });

  test("an invalid address yields a finding, which is removed with the pod", () => {
    const assembler = new SnapshotAssembler(optionsOf("verified"));
    const wrong = ["a/b", "x10.0.0.2", "10.0.0.2x", ":", "f".repeat(46), 7];
    const odd = pod("shop/p", { podIPs: ["10.0.0.1", ...wrong].map((ip) => ({ ip })) });
    for (const each of [namespace("shop"), odd]) assembler.upsert(each);
    const { pods, findings } = assembler.snapshot();
    expect(Object.keys(pods)).toEqual(["shop/10.0.0.1"]);
    expect(Object.keys(findings)).toEqual(["Pod/shop/p/InvalidPodAddress"]);
    assembler.delete(odd);
    expect(assembler.snapshot()).toMatchObject({ pods: {}, findings: {} });
  });
});
