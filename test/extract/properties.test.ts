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
const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ minLength: 60, maxLength: 400, unit: "binary" }),
  fc.constantFrom(
    "__proto__",
    "",
    " ",
    "a b",
    1e99,
    -1,
    2 ** 40,
    1.5,
    null,
    "constructor",
    ["None"],
    [null, 7],
  ),
);

/**
 * Replaces some of the values inside, at any depth; `kind` and `apiVersion` stay, so that extraction reads
 * the object.
 */
function mangle(value: unknown, path: string, chooser: () => number, replacement: () => unknown): unknown {
  if (path !== "" && path !== ".kind" && path !== ".apiVersion" && chooser() === 0) return replacement();
  if (Array.isArray(value))
    return value.map((element, index) => mangle(element, `${path}[${index}]`, chooser, replacement));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      mangle(member, `${path}.${key}`, chooser, replacement),
    ]),
  );
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
const oneIn = (gen: fc.GeneratorValue, many: number) => gen(fc.nat, { max: many - 1 }) === 0;
const mangled = fc.gen().map(
  (gen) =>
    whole.map((object) =>
      oneIn(gen, 3)
        ? mangle(
            object,
            "",
            () => gen(fc.nat, { max: 11 }),
            () => gen(() => hostile),
          )
        : object,
    ) as KubernetesObject[],
);

test("the snapshot is valid and keeps the neighbours, for any fields in the objects", () => {
  const good = [
    namespace("safe"),
    service("safe/web"),
    serviceExport("safe/web"),
    slice("safe/web-1", ofService("web"), endpoints),
  ];
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

test("the order of the objects does not matter", () => {
  const shuffled = fc
    .uniqueArray(wellFormed, { maxLength: 25, selector: (one) => JSON.stringify(identifyObject(one)) })
    .chain((objects) =>
      fc.tuple(
        fc.constant(objects),
        fc.shuffledSubarray(objects, { minLength: objects.length, maxLength: objects.length }),
      ),
    );
  fc.assert(
    fc.property(shuffled, fc.constantFrom(...modes), ([objects, other], mode) => {
      expect(JSON.stringify(extractSnapshot(other, mode))).toBe(
        JSON.stringify(extractSnapshot(objects, mode)),
      );
    }),
    { numRuns: 300 },
  );
});

test("changes one by one have the same snapshot as the remaining objects at once", () => {
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
      expect(assembler.snapshot()).toEqual(extractSnapshot(left.values(), mode));
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
  for (const object of [
    namespace("x"),
    service("x/a"),
    service("x/b"),
    serviceExport("x/a"),
    serviceExport("x/b"),
    bad("b"),
  ])
    assembler.upsert(object);
  expect(Object.keys(assembler.snapshot().findings)).toEqual(["EndpointSlice/x/s/UnsupportedAddressType"]);
  assembler.upsert(service("x/a", { ports: [] }));
  assembler.upsert(bad("a"));
  expect(Object.keys(assembler.snapshot().findings)).toEqual(["EndpointSlice/x/s/UnsupportedAddressType"]);
});
