import { describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/assembler.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import {
  clusterProperty,
  namespace,
  node,
  object,
  ofImport,
  ofService,
  pod,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

const VERIFIED = { name: "cluster.local", pods: "verified" } as const;

function assemble(objects: readonly KubernetesObject[], clusterId?: string): SnapshotAssembler {
  const assembler = new SnapshotAssembler({
    clusterZone: VERIFIED,
    ...(clusterId !== undefined && { clusterId }),
  });
  for (const one of objects) assembler.upsert(one);
  return assembler;
}

/** One object of each kind that a snapshot uses. */
const everything = [
  namespace("shop"),
  namespace("kube-system", { uid: "uid-1" }),
  node("one", { "topology.kubernetes.io/region": "eu" }),
  service("shop/web", { clusterIP: "None", clusterIPs: ["None"] }),
  serviceExport("shop/web"),
  serviceImport("shop/web"),
  slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
  slice("shop/web-2", ofImport("web", "west"), [{ addresses: ["10.1.0.1"] }]),
  pod("shop/web-0", { podIP: "10.0.0.1" }),
  slice("shop/stray", {}, []),
] as const;

describe("a snapshot", () => {
  test("is the same object until something changes", () => {
    const assembler = assemble(everything, "east");
    const before = assembler.snapshot();
    expect(assembler.snapshot()).toBe(before);
    // The object without a service gets its finding again, in a new record.
    for (const one of everything.slice(0, -1)) assembler.upsert(structuredClone(one));
    expect(assembler.snapshot()).toBe(before);
  });

  test.each<[string, KubernetesObject]>([
    ["topology", node("one", { "topology.kubernetes.io/region": "us" })],
    ["namespaces", namespace("other")],
    ["exports", serviceExport("shop/web", { exportedLabels: { tier: "front" } })],
    ["imports", serviceImport("shop/web", { ips: ["10.42.0.2"] })],
    ["services", service("shop/new")],
    ["pods", pod("shop/web-1", { podIP: "10.0.0.2" })],
    ["findings", slice("shop/stray-2", {}, [])],
    ["clusterId", clusterProperty("cluster.clusterset.k8s.io", "west")],
  ])("shares all parts but %s after a change of it", (part, changed) => {
    const assembler = assemble(everything);
    const before = assembler.snapshot();
    assembler.upsert(changed);
    const after = assembler.snapshot();
    const differing = Object.entries(after).filter(([name, value]) => Reflect.get(before, name) !== value);
    expect(differing.map(([name]) => name)).toEqual([part]);
  });
});

describe("objects", () => {
  test.each<[string, KubernetesObject, boolean]>([
    ["of another kind are ignored", object("apps/v1", "Deployment", "shop/web"), false],
    ["of another API group are ignored", object("serving.knative.dev/v1", "Service", "shop/web"), false],
    ["without a name are ignored", { apiVersion: "v1", kind: "Service", metadata: {} }, false],
    ["without metadata are ignored", { apiVersion: "v1", kind: "Service" }, false],
    ["without a kind are ignored", { apiVersion: "v1", metadata: { name: "web" } }, false],
    ["without an apiVersion are ignored", { kind: "Service", metadata: { name: "web" } }, false],
    ["of the kind Service are used", service("shop/web"), true],
  ])("%s", (_, one, isUsed) => {
    expect(new SnapshotAssembler({ clusterId: "east" }).upsert(one)).toBe(isUsed);
    expect(new SnapshotAssembler({ clusterId: "east" }).delete(one)).toBe(isUsed);
  });

  test("of the kind Pod are used only for verified pod names", () => {
    const insecure = { clusterZone: { name: "cluster.local", pods: "insecure" } } as const;
    expect(new SnapshotAssembler(insecure).upsert(pod("shop/web-0"))).toBe(false);
    expect(assemble([]).upsert(pod("shop/web-0"))).toBe(true);
  });

  test.each([
    ["a namespace of 63 characters is valid", namespace("n".repeat(63)), []],
    ["a namespace of 64 characters is a finding", namespace("n".repeat(64)), ["InvalidName"]],
    ["a namespace with another first character is a finding", namespace("-n"), ["InvalidName"]],
    ["a namespace with another last character is a finding", namespace("n_"), ["InvalidName"]],
    ["a Service of 253 characters is valid", service(`shop/${"s".repeat(253)}`), []],
    ["a Service of 254 characters is a finding", service(`shop/${"s".repeat(254)}`), ["InvalidName"]],
    ["a Service with a slash is a finding", service("shop/a/b"), ["InvalidName"]],
  ])("the name of %s", (_, one, reasons) => {
    const { findings } = assemble([namespace("shop"), one], "east").snapshot();
    expect(Object.values(findings).map(({ reason }) => reason)).toEqual(reasons);
  });

  test.each([
    ["v1", "Service"],
    ["v1", "Pod"],
    ["v1", "Node"],
    ["discovery.k8s.io/v1", "EndpointSlice"],
    ["multicluster.x-k8s.io/v1beta1", "ServiceExport"],
    ["multicluster.x-k8s.io/v1beta1", "ServiceImport"],
    ["about.k8s.io/v1beta1", "ClusterProperty"],
  ])("of %s %s may lack all other fields", (apiVersion, kind) => {
    const bare = { apiVersion, kind, metadata: { name: "web", namespace: "shop" } };
    const others = everything.filter((one) => one.kind !== kind);
    expect(() => assemble([...others, bare], "east").snapshot()).not.toThrow();
  });
});
