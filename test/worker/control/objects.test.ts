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

test("derived Services and slices have names that are DNS labels however long that of the service is (RFC 1035), and are different", () => {
  expect(derivedServiceName("db")).toBe("clusterset-db");
  const long = "a".repeat(63);
  expect(derivedServiceName(long)).toMatch(/^clusterset-[a-z0-9-]{52}$/);
  expect(derivedServiceName(long)).not.toBe(derivedServiceName(`${"a".repeat(62)}b`));
  expect(endpointSliceName("a", "b", "0")).toMatch(/^a-[0-9a-f]{8}-0$/);
  // Names of services and clusters that run together.
  const other = endpointSliceName("a", "b-c", "0").replace(/^a-/, "a-b-");
  expect(endpointSliceName("a-b", "c", "0")).not.toBe(other);
});

test("a derived Service has a name for an unnamed port beside others, which no other port has", () => {
  const port = (name: string, number: number) => ({ name, protocol: "TCP", port: number });
  const namesOf = (...ports: ServicePort[]) => {
    const spec = derivedService(at, desiredImport({ ports }))?.spec;
    return (spec as { ports: { name?: string }[] } | undefined)?.ports.map(({ name }) => name);
  };
  expect(namesOf()).toBeUndefined();
  expect(namesOf(port("", 53))).toEqual([undefined]);
  expect(namesOf(port("", 53), port("tcp-53", 54))).toEqual(["tcp-53-1", "tcp-53"]);
});

test("the addresses of a derived Service are those that it was given, and none before", () => {
  const ipsOf = (spec: object) =>
    clusterSetIPsOf({ apiVersion: "v1", kind: "Service", metadata: at, spec })?.ips;
  const clusterIPs = ["10.0.0.1", "fd00::1"];
  expect(ipsOf({ clusterIPs, ipFamilies: ["IPv4", "IPv6"] })).toEqual(clusterIPs);
  for (const spec of [{}, { clusterIPs: ["None"], ipFamilies: ["IPv4"] }])
    expect(ipsOf(spec)).toBeUndefined();
});

test("exported labels that the API server would reject (422), or that take the mark of the control plane away, are left out, other properties are written out", () => {
  const policies = { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" };
  const kept = { ...policies, sessionAffinity: "ClientIP" };
  const labels = { "example.org/tier": "1", "no label": "x", long: "y".repeat(64), ok: "" };
  const wanted = desiredImport({
    ...kept,
    labels: { ...labels, "app.kubernetes.io/managed-by": "somebody" },
    annotations: { note: "any text", "no annotation": "x" },
    sessionAffinityTimeoutSeconds: 10,
    ports: [{ name: "", protocol: "UDP", port: 53, appProtocol: "dns" }],
  });
  const { metadata, spec, apiVersion } = serviceImport("v1alpha1", at, wanted, undefined);
  expect(apiVersion).toBe("multicluster.x-k8s.io/v1alpha1");
  const mark = { "app.kubernetes.io/managed-by": "clusterset-doh" };
  expect(metadata.labels).toEqual({ "example.org/tier": "1", ok: "", ...mark });
  expect(Object.keys(metadata.annotations!)).toEqual([
    "note",
    "multicluster.kubernetes.io/derived-service",
    "clusterset-doh.dev/applied",
  ]);
  expect(spec).toEqual({
    ...kept,
    type: "ClusterSetIP",
    ports: [{ protocol: "UDP", port: 53, appProtocol: "dns" }],
    ips: [],
    ipFamilies: ["IPv4"],
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
  });
});

test("a derived Service sends traffic to other clusters whatever traffic policies the exporter has", () => {
  const wanted = desiredImport({ internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" });
  const { spec } = derivedService(at, wanted)!;
  // With `Local` kube-proxy drops the traffic of nodes without an endpoint.
  expect(spec).toHaveProperty("internalTrafficPolicy", "Cluster");
  // An API server before 1.34 rejects a Service with a newer value.
  expect(spec).not.toHaveProperty("trafficDistribution");
});

test("conditions are applied if they differ from those that hold, and have the time of their last transition", () => {
  const ready = { type: "Ready", status: "True", reason: "Exported", message: "is exported" };
  const then = "2029-01-01T00:00:00Z";
  const there = { ...ready, lastTransitionTime: then, observedGeneration: 2 };
  const applyTo = (...conditions: readonly object[]) =>
    conditionsToApply(
      [ready],
      { apiVersion: "v1", kind: "ServiceExport", metadata: { ...at, generation: 2 }, status: { conditions } },
      "now",
    );
  expect(applyTo(there, { type: "Other" })).toBeUndefined();
  expect(applyTo({ ...there, status: "False" })).toEqual([{ ...there, lastTransitionTime: "now" }]);
  for (const change of [{ reason: "Ready" }, { message: "" }, { observedGeneration: 1 }])
    expect(applyTo({ ...there, ...change })).toEqual([there]);
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
  const valid = condition("Valid", "True", "Valid");
  const ready = condition("Ready", "True", "Exported");
  const agreed = condition("Conflict", "False", "NoConflicts");
  const invalid = condition("Valid", "False", "NoService");
  const failed = condition("Ready", "False", "Failed");
  const conflict = condition("Conflict", "True", "PortConflict");
  const good = [valid, ready, agreed];
  const none = [invalid, condition("Ready", "False", "Pending"), agreed];

  test.each([
    ["of a new export that is ready: Ready alone", [], good, [ready]],
    ["of a new export without a Service: Valid alone", [], none, [invalid]],
    ["of a new export that is valid and fails", [], [valid, failed, agreed], [failed]],
    ["of a new export in conflict", [], [valid, ready, conflict], [ready, conflict]],
    ["when the Service comes: Ready alone", none, good, [ready]],
    ["when the Service comes and fails: both", none, [valid, failed, agreed], [valid, failed]],
    ["when the Service goes: Valid alone", good, none, [invalid]],
    ["when a conflict is over", [valid, ready, conflict], good, [agreed]],
    ["when nothing has another reason: none", [valid, ready, conflict], [valid, ready, conflict], []],
  ])("%s", (_, before, applied, news) => {
    expect(newsIn(applied, before)).toEqual(news);
  });
});
