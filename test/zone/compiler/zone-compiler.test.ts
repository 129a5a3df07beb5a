import { describe, expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import type { SegmentWeights } from "../../../src/zone/compiler/compiler-state.ts";
import type { HoldSegment } from "../../../src/zone/compiler/held-block.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { NO_HISTORY, type ReverseHistory } from "../../../src/zone/reverse/reverse-history.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import type { ZoneChange, ZoneSource } from "../../../src/zone/zone-source.ts";
import { local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { source } from "../compile-worlds.ts";
import { namesIn } from "./names-in.ts";

const LARGE: SegmentWeights = { names: 1e9, reverse: 1e9 };
const SMALL: SegmentWeights = { names: 6, reverse: 2 };
const NOTHING: ZoneChange = { clusters: false, services: [], local: new Map() };
const CLUSTERS: ZoneChange = { ...NOTHING, clusters: true };
const change = (...services: string[]): ZoneChange => ({ ...NOTHING, services });

const web = (address = "10.1.0.1") => exported({ headless: true, endpoints: endpoints({ address }) });
const services = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`shop/s${index}`, web(`10.1.1.${index}`)]));
const world = (parts: Partial<ClusterSnapshot> = {}) =>
  source([snapshot("east", { exports: services(3), ...parts })]);

/** A compiler with what it merges and holds. */
function watching(options: Partial<ZoneOptions> = {}, weights = LARGE) {
  let history: ReverseHistory = NO_HISTORY;
  const held = { names: 0, reverse: 0 };
  const hold: HoldSegment = (segment) => {
    held[segment instanceof ReverseSegment ? "reverse" : "names"]++;
    return segment as never;
  };
  const compiler = new ZoneCompiler(options, weights, hold);
  return {
    held,
    /** Compiles a world. @returns the keys that were merged, in their order, how many steps it took, and the result */
    compile: (from: ZoneSource, what: ZoneChange | "all" = "all", serial = 1) => {
      const merged: string[] = [];
      const service = (key: string) => {
        merged.push(key);
        return from.service(key);
      };
      const compiling = compiler.compile({ ...from, service }, what, { serial, history });
      for (let steps = 1; ; steps++) {
        const step = compiling.next();
        if (step.done !== true) continue;
        ({ reverse: history } = step.value);
        return { merged: merged.sort(), steps, ...step.value };
      }
    },
  };
}

const ALL = Object.keys(services(3));

describe("a compilation merges", () => {
  it("all services at first, and those that changed later on", () => {
    const { compile } = watching();
    expect(compile(world()).merged).toEqual(ALL);
    expect(compile(world(), NOTHING).merged).toEqual([]);
    expect(compile(world(), change("shop/s1")).merged).toEqual(["shop/s1"]);
    expect(compile(world(), CLUSTERS).merged).toEqual([]);
    expect(compile(world(), "all").merged).toEqual(ALL);
  });

  it("all services at first, whatever the change says", () => {
    expect(watching().compile(world(), NOTHING).merged).toEqual(ALL);
  });

  it("those that a source has reports of as well: their findings are compiled", () => {
    const reportedKeys = () => ["shop/gone"];
    const asked: string[] = [];
    const sizeOf = (key: string) => {
      asked.push(key);
      return key === "shop/gone" ? 1 : undefined;
    };
    const { merged } = watching().compile({ ...world({ exports: {} }), reportedKeys, sizeOf });
    expect([merged, asked]).toEqual([["shop/gone"], ["shop/gone"]]);
  });

  it("all services if the order of a federation's shards may be another one", () => {
    const topology = { region: "eu", zones: [] };
    const federations = [{ name: "fed", zone: "fed" }];
    for (const [options, expected] of [
      [{ federations }, ALL],
      [{}, []],
    ] as const) {
      const { compile } = watching(options);
      compile(world());
      expect(compile(world(), CLUSTERS).merged).toEqual([]);
      for (const changed of [world({ topology }), { ...world({ topology }), withAbsent: true }]) {
        expect(compile(changed, CLUSTERS).merged).toEqual(expected);
        expect(compile(changed, CLUSTERS).merged).toEqual([]);
      }
    }
  });

  it("all services after a compilation that failed", () => {
    const { compile } = watching();
    compile(world());
    const broken = {
      ...world(),
      service: () => {
        throw new Error("not now");
      },
    };
    expect(() => compile(broken, change("shop/s1"))).toThrow("not now");
    expect(compile(world(), NOTHING).merged).toEqual(ALL);
  });
});

describe("a compilation", () => {
  it("has the serial that it is given", () => {
    expect(watching().compile(world(), "all", 77).generation.serial).toBe(77);
  });

  it("takes the trunk over unless the frame or the namespaces of names change", () => {
    const { compile } = watching();
    const first = compile(world()).generation.trunk;
    expect(compile(world({ exports: services(2) }), change("shop/s2")).generation.trunk).toBe(first);
    const exports = { ...services(2), "ops/log": web("10.1.2.1") };
    const namespaces = { shop: {}, ops: {} };
    const second = compile(world({ exports, namespaces }), change("ops/log")).generation.trunk;
    expect(namesIn(second.stems).filter((name) => !namesIn(first.stems).includes(name))).toEqual([
      "clusterset ops.svc stem",
    ]);
    const third = compile(world({ exports, namespaces }), CLUSTERS).generation.trunk;
    expect([third.frame.namespaces, third.stems.hash]).toEqual([["ops", "shop"], second.stems.hash]);
  });

  it("has hosts without a namespace in the trunk alone", () => {
    const hosts = ["gw", "gw.shop.svc"].map((name) => ({
      ...{ name: `${name}.clusterset.local`, addresses: ["192.0.2.1"] },
    }));
    const { generation } = watching({ hosts }).compile(world({ exports: {} }));
    expect([...generation.segments()].flatMap(namesIn)).toEqual([
      "clusterset gw.shop.svc everywhere records",
    ]);
    expect(namesIn(generation.stems)).toContain("clusterset gw everywhere records");
  });

  it("follows hosts' namespaces in clusters' own zones that come", () => {
    const hosts = [{ name: "gw.shop.svc.east.test", addresses: ["192.0.2.1"] }];
    const { compile } = watching({ hosts });
    const namesOf = ({ generation }: ReturnType<typeof compile>) =>
      [...generation.segments()].flatMap(namesIn);
    expect(namesOf(compile(world({ exports: {} })))).toEqual([]);
    const zoned = world({ exports: {}, clusterZone: { name: "east.test", pods: "disabled" } });
    expect(namesOf(compile(zoned, CLUSTERS))).toEqual(["local:east gw.shop.svc everywhere records"]);
  });

  it("leaves out what changed in the zones of clusters that are not live", () => {
    const { compile } = watching();
    const first = compile(world()).generation.rootHash;
    const gone = new Map([["gone", { services: ["shop/own"], pods: ["shop/10.2.0.1"] }]]);
    expect(compile(world(), { ...NOTHING, local: gone }).generation.rootHash).toBe(first);
  });

  it("has the findings of keys as long as they have them", () => {
    const clusterZone = { name: "east.test", pods: "disabled" as const };
    const withIp = (ip: string) =>
      world({ clusterZone, services: { "shop/own": local({ clusterIPs: [ip] }) } });
    const own: ZoneChange = { ...NOTHING, local: new Map([["east", { services: ["shop/own"], pods: [] }]]) };
    const { compile } = watching();
    const reasons = (compiled: ReturnType<typeof compile>) => compiled.findings.map(({ reason }) => reason);
    expect(reasons(compile(withIp("10.96.0.999")))).toEqual(["InvalidAddress"]);
    expect(reasons(compile(withIp("10.96.0.999"), own))).toEqual(["InvalidAddress"]);
    expect(reasons(compile(withIp("10.96.0.9"), own))).toEqual([]);
    expect(reasons(compile(withIp("10.96.0.999"), own))).toEqual(["InvalidAddress"]);
    expect(reasons(compile(world({ clusterZone }), own))).toEqual([]);
  });
});

describe("the segments of reverse names", () => {
  it("are compiled once; from the start on, if more addresses are held with their names than wanted", () => {
    const reverseOf = (fresh: number | undefined) => {
      const { compile, held } = watching({}, { ...SMALL, ...(fresh === undefined ? {} : { fresh }) });
      const { generation } = compile(world({ exports: services(20) }));
      const segments = [...generation.reverseSegments()].length;
      const first = held.reverse;
      held.reverse = 0;
      compile(world({ exports: {} }), change(...Object.keys(services(20))));
      held.reverse = 0;
      compile(world({ exports: services(20) }), change(...Object.keys(services(20))));
      return { segments, first, again: held.reverse };
    };
    const atOnce = reverseOf(undefined);
    expect(atOnce.first).toBe(atOnce.segments);
    expect(reverseOf(20)).toEqual(atOnce);
    expect(reverseOf(9).first).toBeGreaterThan(atOnce.segments);
    expect(reverseOf(0).first).toBeGreaterThan(reverseOf(9).first);
    expect(reverseOf(0).again).toBe(atOnce.again);
  });
});

describe("a compilation yields", () => {
  it("after each segment, and for some keys", () => {
    const stepsOf = (count: number, weights: SegmentWeights) =>
      watching({}, weights).compile(world({ exports: services(count) })).steps;
    // Two loops go over all keys, 50 in a step.
    expect(stepsOf(150, LARGE) - stepsOf(50, LARGE)).toBeLessThan(12);
    expect(stepsOf(150, LARGE) - stepsOf(50, LARGE)).toBeGreaterThanOrEqual(2);
    const { compile } = watching({}, SMALL);
    const { generation, steps } = compile(world({ exports: services(40) }));
    const segments = [...generation.segments(), ...generation.reverseSegments()].length;
    expect(steps).toBeGreaterThan(segments);
    expect(compile(world({ exports: services(40) }), change("shop/s1")).steps).toBeLessThan(12);
  });

  it("while it takes pods over, 50 in a step", () => {
    const pods = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`shop/10.2.${index >> 8}.${index & 255}`, {}]),
    );
    const zoned = (parts: Partial<ClusterSnapshot>) =>
      world({ exports: {}, clusterZone: { name: "east.test", pods: "verified" }, ...parts });
    const all: ZoneChange = {
      ...NOTHING,
      local: new Map([["east", { services: [], pods: Object.keys(pods) }]]),
    };
    const { compile } = watching();
    compile(zoned({}));
    // Each key is placed and updated; then those that exist are compiled.
    const without = compile(zoned({}), all).steps;
    expect([without >= 2 * (1000 / 50), without < 60]).toEqual([true, true]);
    const compiled = compile(zoned({ pods }), all).steps;
    expect([compiled >= without, compiled < 120]).toEqual([true, true]);
  });
});
