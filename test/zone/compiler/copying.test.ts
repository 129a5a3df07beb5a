import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import type { HoldSegment } from "../../../src/zone/compiler/held-block.ts";
import { compileSegment } from "../../../src/zone/compiler/segment-compiler.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import { createContext } from "../../../src/zone/compiler/zone-context.ts";
import { DEFAULT_ZONE_OPTIONS } from "../../../src/zone/options.ts";
import { ENDPOINT_UNITS, Pace, UNITS_IN_STEP } from "../../../src/zone/pace.ts";
import { HeldSources } from "../../../src/zone/reverse/held-sources.ts";
import { NO_HISTORY } from "../../../src/zone/reverse/reverse-history.ts";
import { AddressList } from "../../../src/zone/reverse/wanted-addresses.ts";
import { apexHash, hashLabel, treeHash } from "../../../src/zone/segment/name-hash.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { CLUSTERSET_TREE } from "../../../src/zone/segment/tree-key.ts";
import type { ZoneChange, ZoneSource } from "../../../src/zone/zone-source.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { changeBetween, compileEach, hashesOf, OPTIONS, source } from "../compile-worlds.ts";
import { segmentsElsewhere } from "../segments-elsewhere.ts";

const CLUSTERS = ["east", "north", "south.eu", "west"];
const SERVICES = 60;

/** A step of a world: what a cluster has from now on for a service. */
interface Step {
  readonly cluster: number;
  readonly service: number;
  readonly has: "nothing" | "ClusterSetIP" | "Headless" | "import" | "local" | "pod" | "namespace";
  /** How many endpoints or addresses. */
  readonly size: number;
}

const arbitrarySteps = fc.array(
  fc.record({
    cluster: fc.nat(CLUSTERS.length - 1),
    service: fc.nat(SERVICES - 1),
    has: fc.constantFrom(
      ...(["nothing", "ClusterSetIP", "Headless", "import", "local", "pod", "namespace"] as const),
    ),
    size: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 20, max: 60 })),
  }),
  { minLength: 1, maxLength: 12 },
);

type Draft = Record<string, Record<string, Step>>;

const PORTS = [{ name: "http", protocol: "TCP", port: 80 }];

function snapshotOf(clusterId: string, steps: Readonly<Record<string, Step>>): ClusterSnapshot {
  const of = (...kinds: readonly Step["has"][]) =>
    Object.entries(steps).filter(([, { has }]) => kinds.includes(has));
  const members = ({ cluster, service, size }: Step) =>
    endpoints(
      ...Array.from({ length: size }, (_, at) => ({
        address: `10.${cluster}.${service}.${at}`,
        ...(at % 2 === 0 ? { hostname: `web-${at}` } : {}),
      })),
    );
  return {
    ...snapshot(clusterId, {
      namespaces: { shop: {}, lab: {}, ...(of("namespace").length > 0 ? { more: {} } : {}) },
      topology: { region: clusterId < "o" ? "eu" : "us", zones: [`${clusterId.slice(0, 1)}-a`] },
      exports: Object.fromEntries(
        of("ClusterSetIP", "Headless").map(([key, step]) => [
          key,
          exported({
            headless: step.has === "Headless",
            ports: PORTS,
            endpoints: members(step),
            clusterIPs: step.has === "Headless" ? [] : [`10.100.${step.cluster}.${step.service}`],
            loadBalancer: [{ ip: `192.0.2.${step.service}` }],
          }),
        ]),
      ),
      imports: Object.fromEntries(
        of("import").map(([key, step]) => [
          key,
          imported({ ips: [`10.200.${step.cluster}.${step.service}`], ports: PORTS }),
        ]),
      ),
    }),
    clusterZone: { name: "cluster.local", pods: "verified" },
    services: Object.fromEntries(
      of("local").map(([key, step]) => [
        key,
        {
          createdAt: "2026-01-01T00:00:00Z",
          serviceType: "ClusterIP",
          headless: true,
          ports: [],
          endpoints: members(step),
        },
      ]),
    ),
    pods: Object.fromEntries(
      of("pod").map(([key, { cluster, service }]) => [
        `${key.slice(0, key.indexOf("/"))}/fd00::${cluster}:${service}:0`,
        {},
      ]),
    ),
  };
}

function worldOf(draft: Draft): ClusterSnapshot[] {
  return CLUSTERS.flatMap((clusterId) =>
    draft[clusterId] === undefined ? [] : snapshotOf(clusterId, draft[clusterId]),
  );
}

const keyOf = (service: number) => `${service % 3 === 0 ? "lab" : "shop"}/web-${service}`;

/** The world in which half of all clusters have half of all services, then after each list of steps. */
function worldsOf(lists: readonly (readonly Step[])[]): ZoneSource[] {
  const draft: Draft = {};
  for (const [cluster, clusterId] of CLUSTERS.entries())
    draft[clusterId] = Object.fromEntries(
      Array.from({ length: SERVICES }, (_, service) => ({
        ...{ cluster, service, size: 1 + ((service + cluster) % 5) },
        has: service % 2 === 0 ? ("Headless" as const) : ("ClusterSetIP" as const),
      }))
        .filter(({ service }) => (service + cluster) % 4 < 2)
        .map((step) => [keyOf(step.service), step]),
    );
  const worlds = [source(worldOf(draft))];
  for (const steps of lists) {
    for (const step of steps) {
      const own = draft[CLUSTERS[step.cluster]!]!;
      if (step.has === "nothing") delete own[keyOf(step.service)];
      else own[keyOf(step.service)] = step;
    }
    worlds.push(source(worldOf(draft)));
  }
  return worlds;
}

describe("keys that did not change are copied", () => {
  it("into the bytes that compiling all of them gives: with federations, views, zones of clusters, pods, hosts; where segments split and join", () => {
    const options = fc.constantFrom(OPTIONS, { hosts: OPTIONS.hosts! });
    const weights = fc.constantFrom(20, 60, 160, 1e9).map((names) => ({ names, reverse: 50 }));
    const lists = fc.array(arbitrarySteps, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lists, options, weights, (steps, given, weight) => {
        const worlds = worldsOf(steps);
        expect(hashesOf(compileEach(worlds, "changes", weight, given))).toEqual(
          hashesOf(compileEach(worlds, "scratch", weight, given)),
        );
      }),
      { numRuns: 15 },
    );
  });

  it("of segments that are not in memory, some of which are lost", () => {
    const lists = fc.array(arbitrarySteps, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lists, fc.nat(), (steps, lost) => {
        const worlds = worldsOf(steps);
        const weights = { names: 60, reverse: 50 };
        const { bytes, hold } = segmentsElsewhere();
        const holdSome: HoldSegment = (segment) => {
          const branch = hold(segment);
          const isLost = segment instanceof Segment && segment.hash.charCodeAt(lost % 32) % 3 === 0;
          if (isLost) bytes.delete(segment.hash);
          return branch;
        };
        expect(hashesOf(compileEach(worlds, "changes", weights, OPTIONS, holdSome))).toEqual(
          hashesOf(compileEach(worlds, "scratch", weights)),
        );
      }),
      { numRuns: 15 },
    );
  });

  it("unless a segment of reverse names is lost: then compiling fails, and everything is compiled the next time", () => {
    const [before, after] = worldsOf([[{ cluster: 0, service: 1, has: "Headless", size: 40 }]]) as [
      ZoneSource,
      ZoneSource,
    ];
    const { bytes, hold } = segmentsElsewhere();
    const compiler = new ZoneCompiler(OPTIONS, { names: 60, reverse: 50 }, hold);
    const compile = (from: ZoneSource, change: ZoneChange | "all", by = compiler) =>
      drain(by.compile(from, change, { serial: 1, history: NO_HISTORY })).generation.rootHash;
    compile(before, "all");
    bytes.clear();
    expect(() => compile(after, changeBetween(before, after))).toThrow("no segment of the leaf");
    expect(compile(after, { clusters: false, services: [], local: new Map() })).toBe(
      compile(after, "all", new ZoneCompiler(OPTIONS, { names: 60, reverse: 50 })),
    );
  });

  it("where a cluster joins and leaves: no service is merged but those that it has a part in", () => {
    const [before] = worldsOf([]) as [ZoneSource];
    const own = keyOf(SERVICES);
    const step: Step = { cluster: 4, service: SERVICES, has: "Headless", size: 3 };
    const joining = source([snapshotOf("zone", { [own]: step })]);
    const asked: string[] = [];
    const service = (key: string) => {
      asked.push(key);
      return before.service(key) ?? joining.service(key);
    };
    const after: ZoneSource = {
      clusters: [...before.clusters, ...joining.clusters],
      withAbsent: false,
      serviceKeys: () => [...before.serviceKeys(), own],
      sizeOf: (key) => before.sizeOf(key) ?? joining.sizeOf(key),
      service,
    };
    const weights = { names: 1e9, reverse: 1e9 };
    const compiler = new ZoneCompiler({}, weights);
    const compile = (from: ZoneSource, change: ZoneChange | "all", by = compiler) =>
      drain(by.compile(from, change, { serial: 1, history: NO_HISTORY })).generation.rootHash;
    const alone = compile(before, "all");
    const change = { clusters: true, services: [own], local: new Map() };
    const together = compile(after, change);
    expect(asked).toEqual([own]);
    expect(compile({ ...before, service }, change)).toBe(alone);
    expect(asked).toEqual([own]);
    expect(together).toBe(compile(after, "all", new ZoneCompiler({}, weights)));
  });

  it("into a segment that is hashed with another seed, and with the first one afterwards", () => {
    const colliding = exported({
      headless: true,
      ports: PORTS,
      endpoints: endpoints(...collidingEndpoints()),
    });
    const other = (address: string) => exported({ headless: true, endpoints: endpoints({ address }) });
    const world = (address: string, withColliding: boolean) =>
      source([
        snapshot("east", {
          exports: {
            "shop/api": other(address),
            ...(withColliding ? { "shop/web": colliding } : {}),
            "shop/zoo": other("10.0.0.9"),
          },
        }),
      ]);
    const worlds = [world("10.0.0.1", true), world("10.0.0.2", true), world("10.0.0.3", false)];
    const weights = { names: 1e9, reverse: 1e9 };
    const changed = compileEach(worlds, "changes", weights, {});
    const seeds = changed.map(({ generation }) => [...generation.segments()][0]!.seed);
    expect(seeds).toEqual([expect.any(Number), seeds[0], 0]);
    expect(seeds[0]).toBeGreaterThan(0);
    expect(hashesOf(changed)).toEqual(hashesOf(compileEach(worlds, "scratch", weights, {})));
  });
});

/** Endpoints whose names have hashes with one slot, more than a search looks at. */
function collidingEndpoints(): { address: string; hostname: string }[] {
  const encode = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
  const parent = ["svc", "shop", "web", "east"].reduce(
    (hash, label) => hashLabel(hash, encode(label), 0, label.length),
    apexHash(treeHash(CLUSTERSET_TREE), 0),
  );
  const found: { address: string; hostname: string }[] = [];
  for (let index = 0; found.length < 180; index++) {
    const hostname = `pod-${index}`;
    if (hashLabel(parent, encode(hostname), 0, hostname.length) >>> 22 === 7)
      found.push({ address: `10.1.${found.length >> 8}.${found.length & 255}`, hostname });
  }
  return found;
}

describe("a service with many endpoints", () => {
  const ENDPOINTS = 5000;
  const KEY = "shop/web";
  const world = source([
    snapshot("east", {
      exports: {
        [KEY]: exported({
          headless: true,
          ports: PORTS,
          endpoints: endpoints(
            ...Array.from({ length: ENDPOINTS }, (_, at) => ({ address: `10.9.${at >> 8}.${at & 255}` })),
          ),
        }),
      },
    }),
  ]);

  it("is compiled and copied in many steps, each of which looks at few endpoints", () => {
    const service = world.service(KEY)!;
    let looks = 0;
    const watched = {
      ...service,
      endpoints: service.endpoints.map((one) => ({
        ...one,
        get address() {
          looks++;
          return one.address;
        },
      })),
    };
    const from = {
      context: createContext(world, { ...DEFAULT_ZONE_OPTIONS, ...OPTIONS }),
      source: { ...world, service: () => watched },
      clusters: new Map(world.clusters.map((cluster) => [cluster.clusterId, cluster])),
      sources: new HeldSources(),
      pace: new Pace(),
    };
    const key = { key: KEY, hash: 0, weight: ENDPOINTS, locals: [], compiled: undefined };
    const run = (mayDiffer: boolean, given: Parameters<typeof compileSegment>[1]) => {
      let most = 0;
      let steps = 0;
      const steppable = compileSegment(from, given, () => mayDiffer);
      for (;;) {
        looks = 0;
        const step = steppable.next();
        most = Math.max(most, looks);
        if (step.done) return { most, steps, compiled: step.value };
        steps++;
      }
    };
    const built = run(true, [key]);
    expect(built.most).toBeGreaterThan(0);
    expect(built.most).toBeLessThanOrEqual(UNITS_IN_STEP / ENDPOINT_UNITS);
    // Each endpoint is in five loops at least: its label, its service's address, its port, its own records, a federation.
    expect(built.steps).toBeGreaterThan((5 * ENDPOINTS * ENDPOINT_UNITS) / UNITS_IN_STEP);
    const block = [...built.compiled.blocks.values()][0]!;
    const compiled = { block, stems: [], findings: [], addresses: AddressList.none };
    const copied = run(false, [{ ...key, compiled }]);
    expect(copied.most).toBe(0);
    // Each endpoint has a node in the clusterset and one in the federation: they are copied, then hashed.
    expect(copied.steps).toBeGreaterThan((4 * ENDPOINTS) / UNITS_IN_STEP);
    expect(copied.compiled.branch.hash).toBe(built.compiled.branch.hash);
  });
});
