import { beforeEach, describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/assembler.ts";
import {
  namespace,
  node,
  ofImport,
  ofService,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

let assembler: SnapshotAssembler;
beforeEach(() => {
  assembler = new SnapshotAssembler({ clusterId: "east" });
});

const add = (...objects: Parameters<SnapshotAssembler["upsert"]>[0][]) =>
  objects.map((object) => assembler.upsert(object));
const addressesOf = (name: string) =>
  Object.values(assembler.snapshot().exports[name]?.endpoints ?? {}).flatMap(({ members }) =>
    Object.keys(members),
  );
const web1 = (owner = "web", address = "10.0.0.1") =>
  slice("shop/web-1", ofService(owner), [{ addresses: [address] }]);

describe("objects in any order of time", () => {
  test("an export gets the endpoints of a slice that comes after a snapshot", () => {
    add(namespace("shop"), service("shop/web"), serviceExport("shop/web"));
    expect(addressesOf("shop/web")).toEqual([]);
    add(web1());
    expect(addressesOf("shop/web")).toEqual(["10.0.0.1"]);
  });

  test.each([
    ["the Service", service("shop/web")],
    ["the ServiceExport", serviceExport("shop/web")],
    ["the slice", web1()],
  ])("%s alone is kept until the others come, one snapshot at a time", (_, first) => {
    const all = [service("shop/web"), serviceExport("shop/web"), web1()];
    add(namespace("shop"), first);
    assembler.snapshot();
    for (const object of all.filter(({ kind }) => kind !== first.kind)) {
      add(object);
      assembler.snapshot();
    }
    expect(addressesOf("shop/web")).toEqual(["10.0.0.1"]);
    expect(assembler.snapshot().findings).toEqual({});
  });

  test("a ServiceImport is kept until its slice comes", () => {
    add(namespace("shop"), serviceImport("shop/web"));
    assembler.snapshot();
    add(slice("shop/west-1", ofImport("web", "west"), [{ addresses: ["10.1.0.1"] }]));
    const { imports } = assembler.snapshot();
    expect(JSON.stringify(imports["shop/web"])).toContain("10.1.0.1");
  });

  test("a deleted slice takes its endpoints along, and a service that lost everything can come again", () => {
    add(namespace("shop"), service("shop/web"), serviceExport("shop/web"), web1());
    expect(addressesOf("shop/web")).toEqual(["10.0.0.1"]);
    assembler.delete(web1());
    expect(addressesOf("shop/web")).toEqual([]);
    assembler.delete(service("shop/web"));
    assembler.delete(serviceExport("shop/web"));
    expect(assembler.snapshot()).toMatchObject({ exports: {}, findings: {} });
    add(service("shop/web"), serviceExport("shop/web"), web1());
    expect(addressesOf("shop/web")).toEqual(["10.0.0.1"]);
  });

  test("a slice that changes its label moves its endpoints", () => {
    add(
      namespace("shop"),
      ...["web", "api"].flatMap((name) => [service(`shop/${name}`), serviceExport(`shop/${name}`)]),
    );
    add(web1());
    expect([addressesOf("shop/web"), addressesOf("shop/api")]).toEqual([["10.0.0.1"], []]);
    add(web1("api"));
    expect([addressesOf("shop/web"), addressesOf("shop/api")]).toEqual([[], ["10.0.0.1"]]);
    assembler.delete(web1("api"));
    expect([addressesOf("shop/web"), addressesOf("shop/api")]).toEqual([[], []]);
  });

  test("slices of one name in two namespaces do not touch each other", () => {
    for (const name of ["shop", "bank"])
      add(
        namespace(name),
        service(`${name}/web`),
        serviceExport(`${name}/web`),
        slice(`${name}/web-1`, ofService("web"), [{ addresses: ["10.0.0.1"] }]),
      );
    assembler.delete(web1());
    expect([addressesOf("shop/web"), addressesOf("bank/web")]).toEqual([[], ["10.0.0.1"]]);
  });

  test("every service of a namespace follows it", () => {
    const names = ["shop/api", "shop/web"];
    add(...names.flatMap((name) => [service(name), serviceExport(name)]));
    expect(assembler.snapshot().exports).toEqual({});
    add(namespace("shop"));
    expect(Object.keys(assembler.snapshot().exports)).toEqual(names);
    assembler.delete(namespace("shop"));
    expect(assembler.snapshot()).toMatchObject({ exports: {}, namespaces: {} });
    assembler.delete(service("shop/api"));
    add(namespace("shop"));
    expect(Object.keys(assembler.snapshot().exports)).toEqual(["shop/web"]);
  });

  test("a finding ends with its cause", () => {
    add(namespace("shop"), service("shop/web", { type: "Teapot" }), serviceExport("shop/web"));
    expect(Object.keys(assembler.snapshot().findings)).not.toEqual([]);
    add(service("shop/web"));
    expect(assembler.snapshot().findings).toEqual({});
  });

  test("an object whose name is invalid counts as used, and its finding ends with it", () => {
    expect(add(namespace("n".repeat(300)))).toEqual([true]);
    expect(Object.keys(assembler.snapshot().findings)).toHaveLength(1);
    expect(assembler.delete(namespace("n".repeat(300)))).toBe(true);
    expect(assembler.snapshot().findings).toEqual({});
  });
});

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
