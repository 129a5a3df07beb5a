import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { listRecords } from "../../src/zone/listing.ts";
import { listServices, type ServiceSearch } from "../../src/zone/services.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { twoClusters } from "../resolve/world.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";

const ALL: ServiceSearch = { words: [], view: undefined, offset: 0, most: 1_000_000 };
const compile = (...args: Parameters<typeof mergeClusterset>) =>
  compileGeneration(mergeClusterset(...args)).generation;

/** `<service>.<namespace>` of every name with records directly below a namespace, from the listing of records. */
function servicesOf(generation: ReturnType<typeof compile>, view: string | undefined) {
  const records = [...listRecords(generation, { view })];
  const found = new Map<string, { addresses: string[]; ports: string[] }>();
  for (const { name, type, rdata } of records) {
    const labels = name.split(".");
    const at = labels.lastIndexOf("svc");
    if (at < 2 || labels.slice(at).join(".") !== "svc.clusterset.local.") continue;
    const key = labels.slice(at - 2, at).join(".");
    const service = found.get(key) ?? { addresses: [], ports: [] };
    found.set(key, service);
    if (at === 2 && (type === "A" || type === "AAAA")) service.addresses.push(rdata);
    if (at === 4 && type === "SRV" && labels[0]!.startsWith("_"))
      service.ports.push(labels.slice(0, 2).join("."));
  }
  return found;
}

describe("the services of a generation", () => {
  it("are those with records, with their addresses and ports, in every view", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(4), (snapshots, pick) => {
        const view = [undefined, ...snapshots.map(({ clusterId }) => clusterId)][
          pick % (snapshots.length + 1)
        ];
        const generation = compile(snapshots);
        const expected = servicesOf(generation, view);
        const { total, services } = listServices(generation, { ...ALL, view });
        expect(services).toHaveLength(total);
        const listed = new Map(services.map((service) => [`${service.name}.${service.namespace}`, service]));
        expect(listed.size).toBe(total);
        for (const [name, { addresses, ports }] of expected) {
          const service = listed.get(name)!;
          expect(service.addressCount, name).toBe(addresses.length);
          expect(addresses).toEqual(expect.arrayContaining([...service.addresses]));
          expect(service.addresses.length).toBe(Math.min(4, addresses.length));
          expect(new Set(service.ports.map((port) => port.name))).toEqual(new Set(ports));
          expect(service.clusters.length > 0).toBe(addresses.length > 0);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("are listed page by page, each once, in a fixed order", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.integer({ min: 1, max: 5 }), (snapshots, most) => {
        const generation = compile(snapshots);
        const { total, services } = listServices(generation, ALL);
        const paged = [];
        for (let offset = 0; offset < total; offset += most)
          paged.push(...listServices(generation, { ...ALL, offset, most }).services);
        expect(paged).toEqual(services);
        const keys = services.map(({ namespace, name }) => `${namespace}/${name}`);
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });

  it("are found by words in any case, and all matches are counted", () => {
    const generation = compile(twoClusters());
    const names = (words: string[], most = 100) => {
      const { total, services } = listServices(generation, { ...ALL, words, most });
      return { total, names: services.map(({ name, namespace }) => `${name}.${namespace}`) };
    };
    const everything = names([]);
    expect(everything.total).toBeGreaterThan(2);
    const [name, namespace] = everything.names[0]!.split(".") as [string, string];
    expect(names([name.toUpperCase(), namespace]).names).toContain(`${name}.${namespace}`);
    expect(names(["no-such-word"])).toEqual({ total: 0, names: [] });
    expect(names([], 1)).toEqual({ total: everything.total, names: [everything.names[0]] });
  });

  it("are in the order of namespace and name, whatever segments they are in", () => {
    const names = Array.from({ length: 120 }, (_, index) => `s${(index * 7) % 120}`);
    const addressed = exported({ headless: true, endpoints: endpoints({ address: "10.0.0.1" }) });
    // As text, "a-b/" comes before "a/".
    const namespaces = ["a-b", "a", "b"];
    const exports = Object.fromEntries(
      namespaces.flatMap((namespace) => names.map((name) => [`${namespace}/${name}`, addressed])),
    );
    const generation = compile([
      snapshot("east", { namespaces: Object.fromEntries(namespaces.map((name) => [name, {}])), exports }),
    ]);
    expect([...generation.segments()].length).toBeGreaterThan(4);
    const sorted = ["a", "a-b", "b"].flatMap((namespace) =>
      names.toSorted().map((name) => `${namespace}/${name}`),
    );
    const listed = listServices(generation, ALL).services.map(
      ({ namespace, name }) => `${namespace}/${name}`,
    );
    expect(listed).toEqual(sorted);
  });

  it("have the clusters of all their addresses, sorted", () => {
    const part = (...ips: string[]) => ({
      exports: { "shop/web": exported() },
      imports: { "shop/web": imported({ ips }) },
    });
    const generation = compile([snapshot("west", part("10.200.0.1")), snapshot("east", part("fd00::1"))]);
    const { services } = listServices(generation, ALL);
    expect(services.map(({ addresses, clusters }) => [addresses, clusters])).toEqual([
      [
        ["10.200.0.1", "fd00::1"],
        ["east", "west"],
      ],
    ]);
  });
});
