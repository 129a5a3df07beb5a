import { describe, expect, test } from "vitest";
import type { ServicePort } from "../../../src/snapshot/schema.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import {
  clusterSetIPsOf,
  derivedService,
  derivedServiceName,
  endpointSliceName,
  serviceImport,
} from "../../../src/worker/control/objects.ts";
import { describeChange } from "../../../src/worker/control/plan.ts";
import { conditionsToApply, newsIn } from "../../../src/worker/control/reconcile.ts";
import { desiredImport } from "./desired-lines.ts";

const at = { namespace: "shop", name: "db" };

describe("names", () => {
  test("a derived Service is named after its service, and is a DNS label however long that is (RFC 1035)", () => {
    expect(derivedServiceName("db")).toBe("clusterset-db");
    const long = "a".repeat(63);
    expect(derivedServiceName(long)).toMatch(/^clusterset-[a-z0-9-]{52}$/);
    expect(derivedServiceName(long)).not.toBe(derivedServiceName(`${"a".repeat(62)}b`));
  });

  test("slices of services and clusters whose names run together have different names", () => {
    expect(endpointSliceName("a-b", "c", "0")).not.toBe(
      endpointSliceName("a", "b-c", "0").replace(/^a-/, "a-b-"),
    );
    expect(endpointSliceName("a", "b", "0")).toMatch(/^a-[0-9a-f]{8}-0$/);
  });
});

test("a derived Service has a name for an unnamed port beside others, which no other port has", () => {
  const port = (name: string, number: number) => ({ name, protocol: "TCP", port: number });
  const namesOf = (...ports: ServicePort[]) =>
    (
      derivedService(at, { ...desiredImport(), ports })?.spec as { ports: { name?: string }[] } | undefined
    )?.ports.map(({ name }) => name);
  expect(namesOf()).toBeUndefined();
  expect(namesOf(port("", 53))).toEqual([undefined]);
  expect(namesOf(port("", 53), port("tcp-53", 54))).toEqual(["tcp-53-1", "tcp-53"]);
});

test.each([
  ["no Service", undefined, undefined],
  ["a headless Service", { clusterIPs: ["None"], ipFamilies: ["IPv4"] }, undefined],
  ["a Service without addresses yet", {}, undefined],
  [
    "a dual-stack Service",
    { clusterIPs: ["10.0.0.1", "fd00::1"], ipFamilies: ["IPv4", "IPv6"] },
    ["10.0.0.1", "fd00::1"],
  ],
])("the addresses of %s", (_, spec, ips) => {
  const service =
    spec === undefined
      ? undefined
      : ({ apiVersion: "v1", kind: "Service", metadata: at, spec } as ManagedObject);
  expect(clusterSetIPsOf(service)?.ips).toEqual(ips);
});

test("exported labels that the API server would reject (422) are left out, other properties are written out", () => {
  const wanted = desiredImport({
    labels: { "example.org/tier": "1", "no label": "x", long: "y".repeat(64), ok: "" },
    annotations: { note: "any text", "no annotation": "x" },
    sessionAffinity: "ClientIP",
    sessionAffinityTimeoutSeconds: 10,
    internalTrafficPolicy: "Local",
    trafficDistribution: "PreferClose",
    ports: [{ name: "", protocol: "UDP", port: 53, appProtocol: "dns" }],
  });
  const { metadata, spec, apiVersion } = serviceImport("v1alpha1", at, wanted, undefined);
  expect(apiVersion).toBe("multicluster.x-k8s.io/v1alpha1");
  expect(metadata.labels).toEqual({
    "example.org/tier": "1",
    ok: "",
    "app.kubernetes.io/managed-by": "clusterset-doh",
  });
  expect(Object.keys(metadata.annotations!)).toEqual([
    "note",
    "multicluster.kubernetes.io/derived-service",
    "clusterset-doh.dev/applied",
  ]);
  expect(spec).toEqual({
    type: "ClusterSetIP",
    ports: [{ protocol: "UDP", port: 53, appProtocol: "dns" }],
    ips: [],
    ipFamilies: ["IPv4"],
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
    internalTrafficPolicy: "Local",
    trafficDistribution: "PreferClose",
  });
  // An API server before 1.34 rejects a Service with a newer value.
  expect(derivedService(at, wanted)!.spec).not.toHaveProperty("trafficDistribution");
});

test("a ServiceImport has the cluster IPs of the families that exporters have: nothing is behind others", () => {
  const both = { ips: ["10.0.0.1", "fd00::1"], ipFamilies: ["IPv4", "IPv6"] };
  const ipsFor = (...ipFamilies: ("IPv4" | "IPv6")[]) =>
    (serviceImport("v1beta1", at, desiredImport({ ipFamilies }), both).spec as { ips: string[] }).ips;
  expect(ipsFor("IPv6")).toEqual(["fd00::1"]);
  expect(ipsFor("IPv4", "IPv6")).toEqual(both.ips);
  expect(ipsFor()).toEqual(both.ips);
});

test("exported labels cannot take the mark of the control plane away", () => {
  const wanted = desiredImport({ labels: { "app.kubernetes.io/managed-by": "somebody" } });
  expect(serviceImport("v1beta1", at, wanted, undefined).metadata.labels).toEqual({
    "app.kubernetes.io/managed-by": "clusterset-doh",
  });
});

describe("conditions", () => {
  const READY = { type: "Ready", status: "True", reason: "Exported", message: "is exported" };
  const held = (conditions: readonly object[], generation = 2): ManagedObject => ({
    apiVersion: "v1",
    kind: "ServiceExport",
    metadata: { ...at, generation },
    status: { conditions },
  });
  const there = { ...READY, lastTransitionTime: "2029-01-01T00:00:00Z", observedGeneration: 2 };

  test("are not applied again while they hold", () => {
    expect(conditionsToApply([READY], held([there, { type: "Other" }]), "now")).toBeUndefined();
  });

  test.each([
    ["another status", { status: "False" }, "now"],
    ["another reason", { reason: "Ready" }, "2029-01-01T00:00:00Z"],
    ["another message", { message: "" }, "2029-01-01T00:00:00Z"],
    ["another generation", { observedGeneration: 1 }, "2029-01-01T00:00:00Z"],
  ])("are applied after %s", (_, change, time) => {
    expect(conditionsToApply([READY], held([{ ...there, ...change }]), "now")).toEqual([
      { ...there, lastTransitionTime: time },
    ]);
  });
});

test("a plan shows new objects, changed fields and objects that go", () => {
  const object = (spec: object): ManagedObject => ({ apiVersion: "v1", kind: "Service", metadata: at, spec });
  expect([...describeChange(undefined, object({ ports: [1] }))]).toEqual([
    "+ Service shop/db",
    "    + spec.ports: [1]",
  ]);
  expect([...describeChange(object({ ports: [1], type: "x" }), object({ ports: [2] }))]).toEqual([
    "~ Service shop/db",
    "    - spec.ports: [1]",
    "    + spec.ports: [2]",
  ]);
  expect([...describeChange(object({}), undefined)]).toEqual(["- Service shop/db"]);
});

describe("the conditions that tell people something", () => {
  const condition = (type: string, status: string, reason: string) => ({ type, status, reason, message: "" });
  const [valid, ready, agreed] = [
    condition("Valid", "True", "Valid"),
    condition("Ready", "True", "Exported"),
    condition("Conflict", "False", "NoConflicts"),
  ];
  const invalid = condition("Valid", "False", "NoService");
  const waiting = condition("Ready", "False", "Pending");
  const failed = condition("Ready", "False", "Failed");
  const conflict = condition("Conflict", "True", "PortConflict");
  test.each([
    ["of a new export that is ready: Ready alone", [], [valid, ready, agreed], [ready]],
    ["of a new export without a Service: Valid alone", [], [invalid, waiting, agreed], [invalid]],
    ["of a new export that is valid and fails", [], [valid, failed, agreed], [failed]],
    ["of a new export in conflict", [], [valid, ready, conflict], [ready, conflict]],
    ["when the Service comes: Ready alone", [invalid, waiting, agreed], [valid, ready, agreed], [ready]],
    [
      "when the Service comes and fails: both",
      [invalid, waiting, agreed],
      [valid, failed, agreed],
      [valid, failed],
    ],
    ["when the Service goes: Valid alone", [valid, ready, agreed], [invalid, waiting, agreed], [invalid]],
    ["when a conflict is over", [valid, ready, conflict], [valid, ready, agreed], [agreed]],
    ["when nothing has another reason: none", [valid, ready, conflict], [valid, ready, conflict], []],
  ])("%s", (_, before, applied, news) => {
    expect(newsIn(applied, before)).toEqual(news);
  });
});
