import fc from "fast-check";
import { expect, test } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import { identifyObject, type KubernetesObject } from "../../src/extract/objects.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import { change, endpoints, ports, wellFormed } from "./any-objects.ts";
import {
  namespace,
  node,
  ofImport,
  ofService,
  pod,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

const options = { clusterId: "east" };
const local = { ...options, clusterZone: { name: "cluster.local", pods: "verified" } } as const;
const modes = [options, local] as const;
const odd = ["__proto__", "", " ", "a b", 1e99, -1, 2 ** 40, 1.5, null, "constructor", ["None"], [null, 7]];
const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ minLength: 60, maxLength: 400, unit: "binary" }),
  fc.constantFrom<unknown>(...odd),
);

/** Replaces some of the values inside, at any depth, but `kind` and `apiVersion`. */
function mangle(value: unknown, path: string, isChosen: () => boolean, replacement: () => unknown): unknown {
  if (path !== "" && path !== ".kind" && path !== ".apiVersion" && isChosen()) return replacement();
  const inner = (member: unknown, step: string) => mangle(member, path + step, isChosen, replacement);
  if (Array.isArray(value)) return value.map((element, index) => inner(element, `[${index}]`));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inner(member, `.${key}`)]));
}

const whole = [
  namespace("x"),
  node("n", { "topology.kubernetes.io/zone": "z" }),
  service("x/a", { ipFamilies: ["IPv4"] }, { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } }),
  serviceExport("x/a", { exportedLabels: { tier: "front" } }),
  serviceImport("x/a"),
  service("x/b", { type: "ExternalName", externalName: "a.example", name: "a.b" }),
  pod("x/p", { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] }),
  slice("x/a-1", ofService("a"), endpoints, { ports }),
  slice("x/a-2", ofImport("a", "west"), endpoints, { ports }),
];
const mangled = fc.gen().map((gen) => {
  const oneIn = (many: number) => gen(fc.nat, { max: many - 1 }) === 0;
  const some = (object: KubernetesObject) =>
    mangle(
      object,
      "",
      () => oneIn(12),
      () => gen(() => hostile),
    ) as KubernetesObject;
  return whole.map((object) => (oneIn(3) ? some(object) : object));
});

test("the snapshot is valid and keeps the neighbours, for any fields in the objects", () => {
  const pods = slice("safe/web-1", ofService("web"), endpoints);
  const good = [namespace("safe"), service("safe/web"), serviceExport("safe/web"), pods];
  const alone = extractSnapshot(good, local);
  fc.assert(
    fc.property(mangled, fc.array(fc.jsonValue(), { maxLength: 2 }), (objects, noise) => {
      const snapshot = extractSnapshot([...good, ...objects, ...(noise as KubernetesObject[])], local);
      expect(parseSnapshot(snapshot)).toEqual(snapshot);
      expect(snapshot.exports["safe/web"]).toEqual(alone.exports["safe/web"]);
      expect(snapshot.services["safe/web"]).toEqual(alone.services["safe/web"]);
    }),
    { numRuns: 1500 },
  );
});

test("changes one by one have the same snapshot as the remaining objects at once, in the opposite order", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), fc.constantFrom(...modes), (changes, mode) => {
      const assembler = new SnapshotAssembler(mode);
      const left = new Map<string, KubernetesObject>();
      for (const { object, verb, look } of changes) {
        const key = JSON.stringify(identifyObject(object));
        if (verb === "upsert") {
          left.set(key, object);
          assembler.upsert(object);
        } else {
          left.delete(key);
          assembler.delete(object);
        }
        if (look) assembler.snapshot();
      }
      const atOnce = extractSnapshot([...left.values()].reverse(), mode);
      expect(JSON.stringify(assembler.snapshot())).toBe(JSON.stringify(atOnce));
    }),
    { numRuns: 500 },
  );
});

test("the cluster's own zone adds its tables and changes nothing else", () => {
  fc.assert(
    fc.property(fc.array(wellFormed, { maxLength: 25 }), (objects) => {
      const { clusterZone, services, pods, findings, ...shared } = extractSnapshot(objects, local);
      const without = extractSnapshot(objects, options);
      expect(clusterZone).toEqual(local.clusterZone);
      expect({ ...shared, services: {}, pods: {}, findings: without.findings }).toEqual(without);
      expect(findings).toMatchObject(without.findings);
    }),
    { numRuns: 200 },
  );
});

test("a slice that moves to another service keeps its finding", () => {
  const assembler = new SnapshotAssembler(options);
  const bad = (name: string) => slice("x/s", ofService(name), endpoints, { addressType: "FQDN" });
  for (const name of ["x/a", "x/b"])
    for (const object of [namespace("x"), service(name), serviceExport(name)]) assembler.upsert(object);
  const reports = () => Object.keys(assembler.snapshot().findings);
  assembler.upsert(bad("b"));
  expect(reports()).toEqual(["EndpointSlice/x/s/UnsupportedAddressType"]);
  assembler.upsert(service("x/a", { ports: [] }));
  assembler.upsert(bad("a"));
  expect(reports()).toEqual(["EndpointSlice/x/s/UnsupportedAddressType"]);
});
