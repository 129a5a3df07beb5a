import { beforeEach, describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/assembler.ts";
import { namespace, node, service, serviceExport } from "./objects.ts";

let assembler: SnapshotAssembler;
beforeEach(() => {
  assembler = new SnapshotAssembler({ clusterId: "east" });
});

const add = (...objects: Parameters<SnapshotAssembler["upsert"]>[0][]) =>
  objects.map((object) => assembler.upsert(object));
describe("equal parts stay the same objects", () => {
  const ZONE = "topology.kubernetes.io/zone";

  test("the topology over nodes that change nothing in it", () => {
    add(node("a", { [ZONE]: "z1" }), node("b", { [ZONE]: "z1" }));
    const first = assembler.snapshot();
    expect(first.topology).toEqual({ zones: ["z1"] });
    add(node("c", { [ZONE]: "z1" }));
    expect(assembler.snapshot()).toBe(first);
    add(node("c", { [ZONE]: "z2" }));
    expect(assembler.snapshot().topology).toEqual({ zones: ["z1", "z2"] });
    assembler.delete(node("c", {}));
    expect(assembler.snapshot().topology).toEqual({ zones: ["z1"] });
  });

  test("a namespace or a node without labels, once more", () => {
    add(namespace("shop"), service("shop/web"), serviceExport("shop/web"));
    const first = assembler.snapshot();
    add({ apiVersion: "v1", kind: "Node", metadata: { name: "bare" } }, { apiVersion: "v1", kind: "Node" });
    add(namespace("shop"));
    expect(assembler.snapshot().exports["shop/web"]).toBe(first.exports["shop/web"]);
  });

  test("the cluster id is that of kube-system, once it is there", () => {
    const own = new SnapshotAssembler();
    own.upsert({ apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } });
    expect(() => own.snapshot()).toThrow("the cluster has no id");
    own.upsert(namespace("kube-system", { uid: "uid-1" }));
    expect(own.snapshot().clusterId).toBe("uid-1");
    own.upsert({
      apiVersion: "about.k8s.io/v1beta1",
      kind: "ClusterProperty",
      metadata: { name: "cluster.clusterset.k8s.io" },
    });
    expect(own.snapshot().clusterId).toBe("uid-1");
  });
});
