import { describe, expect, it } from "vitest";
import { drain } from "../../../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../../../src/snapshot/schema.ts";
import { ZoneCompiler } from "../../../../src/zone/compiler/zone-compiler.ts";
import type { ZoneOptions } from "../../../../src/zone/options.ts";
import { NO_HISTORY, type ReverseHistory } from "../../../../src/zone/reverse/reverse-history.ts";
import type { ZoneChange, ZoneSource } from "../../../../src/zone/zone-source.ts";
import { local } from "../../../conformance/cases/cluster-local.ts";
import { endpoints, exported, snapshot } from "../../../merge/fixtures.ts";
import { source } from "../../compile-worlds.ts";
import { RecordedNotes } from "./recorded-notes.ts";

const LARGE = { names: 1e9, reverse: 1e9 };
const SMALL = { names: 6, reverse: 2 };
const web = (address = "10.1.0.1") => exported({ headless: true, endpoints: endpoints({ address }) });
const exports = { "shop/web": web() };
const zoned = {
  clusterZone: { name: "east.test", pods: "disabled" as const },
  services: { "shop/own": local() },
};

const NOTHING: ZoneChange = { clusters: false, services: [], local: new Map() };
const CLUSTERS: ZoneChange = { ...NOTHING, clusters: true };
const change = (...services: string[]): ZoneChange => ({ ...NOTHING, services });

/** A compiler with notes, and what it notes. */
function noting(weights = LARGE, options: Partial<ZoneOptions> = {}, notes = new RecordedNotes()) {
  const compiler = new ZoneCompiler(options, weights, notes.hold, notes);
  let history: ReverseHistory = NO_HISTORY;
  return {
    notes,
    /** Compiles a world. @returns the names of the notes that were put (`+`) and removed (`-`) */
    compile: (from: ZoneSource, what: ZoneChange | "all" = "all") => {
      ({ reverse: history } = drain(compiler.compile(from, what, { serial: 1, history })));
      return notes.take();
    },
    resume: (from: ZoneSource) => drain(compiler.resume(from)),
  };
}

const world = (parts: Partial<ClusterSnapshot> = {}) => source([snapshot("east", { exports, ...parts })]);
const services = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`shop/s${index}`, web(`10.1.1.${index}`)]));

describe("a compilation notes", () => {
  it("all leaves and a summary, after it cleared what was there", () => {
    expect(noting().compile(world())).toEqual(["+n0.0", "+r0.0", "+s", "cleared"]);
  });

  it("the leaves that changed, and nothing else", () => {
    const { compile } = noting();
    compile(world());
    expect(compile(world(), NOTHING)).toEqual([]);
    expect(compile(world(), CLUSTERS)).toEqual([]);
    expect(compile(world({ exports: { "shop/web": web("10.1.0.2") } }), change("shop/web"))).toEqual([
      "+n0.0",
      "+r0.0",
    ]);
    const unready = exported({ headless: true, endpoints: endpoints({ address: "10.1.0.2", ready: false }) });
    expect(compile(world({ exports: { "shop/web": unready } }), change("shop/web"))).toEqual([
      "+n0.0",
      "+r0.0",
    ]);
  });

  it("that leaves are gone: divided into others, or joined", () => {
    const { compile, notes } = noting(SMALL);
    compile(world());
    const before = [...notes.texts.keys()].sort();
    const keys = Object.keys(services(4));
    const divided = compile(world({ exports: { ...exports, ...services(4) } }), change(...keys));
    expect(divided.filter((name) => name.startsWith("-")).sort()).toEqual(
      expect.arrayContaining(["-n0.0", "-r0.0"]),
    );
    const after = [...notes.texts.keys()].sort();
    expect(after.filter((name) => name.startsWith("n")).length).toBeGreaterThan(2);
    expect(after).not.toContain("n0.0");
    expect(noting(SMALL).compile(world({ exports: { ...exports, ...services(4) } }))).toEqual(
      expect.arrayContaining(after.map((name) => `+${name}`)),
    );
    compile(world(), change(...keys));
    expect([...notes.texts.keys()].sort()).toEqual(before);
  });

  it("keys with reports, as long as they have any", () => {
    const reported = new Set(["shop/web"]);
    const watched = {
      ...world(),
      isReported: (key: string) => reported.has(key),
      reportedKeys: () => reported,
    };
    const { compile, notes } = noting();
    expect(compile(watched)).toContain("+kshop/web");
    expect(notes.texts.get("kshop/web")).toBe("");
    expect(compile(watched, change("shop/web"))).toEqual(["+n0.0"]);
    reported.clear();
    expect(compile(watched, change("shop/web"))).toEqual(["+n0.0", "+s", "-kshop/web"]);
    expect(compile(watched, change("shop/web"))).toEqual(["+n0.0"]);
  });

  it("another summary if own zones, federations or the view of absent clusters change", () => {
    const federations = [{ name: "fed", zone: "fed" }];
    const { compile } = noting(LARGE, { federations });
    compile(world());
    expect(compile(world(), NOTHING)).toEqual([]);
    expect(compile(world({ topology: { region: "eu", zones: [] } }), CLUSTERS)).toContain("+s");
    expect(compile(world({ ...zoned, topology: { region: "eu", zones: [] } }), CLUSTERS)).toContain("+s");
    const absent = { ...world({ ...zoned, topology: { region: "eu", zones: [] } }), withAbsent: true };
    expect(compile(absent, CLUSTERS)).toContain("+s");
    expect(compile(absent, CLUSTERS)).not.toContain("+s");
  });

  it("nothing without notes", () => {
    const compiler = new ZoneCompiler({}, LARGE);
    drain(compiler.compile(world(), "all", { serial: 1, history: NO_HISTORY }));
    expect(() => drain(compiler.resume(world()))).toThrow(new Error("nothing is noted"));
  });
});

describe("notes are gone on from", () => {
  /** Compiles a world and resumes with another one. */
  function resumed(before: ZoneSource, after = before, options: Partial<ZoneOptions> = {}, weights = LARGE) {
    const { compile, notes } = noting(weights, options);
    compile(before);
    const next = noting(weights, options, notes);
    return { ...next, result: next.resume(after) };
  }
  const DIFFERS = new Error("notes are missing, or something else is served");

  it("with what else was noted: numbers of keys, keys with reports or findings, the view of absent clusters", () => {
    const odd = { "shop/odd": local({ clusterIPs: ["10.96.0.999"] }) };
    const noted = {
      ...world({ ...zoned, services: odd }),
      ...{ noteOf: (key: string) => (key === "shop/web" ? 7 : undefined), withAbsent: true },
      ...{ isReported: (key: string) => key === "shop/gone", reportedKeys: () => ["shop/gone"] },
    };
    const { sizes, reported, withAbsent } = resumed(noted).result;
    expect([...sizes]).toEqual([["shop/web", 7]]);
    expect([...reported].sort()).toEqual(["shop/gone", "shop/odd"]);
    expect([withAbsent, resumed(world()).result.withAbsent]).toEqual([true, false]);
  });

  it.each<[string, Partial<ClusterSnapshot>, Partial<ClusterSnapshot>, Partial<ZoneOptions>]>([
    ["a cluster's own zone", zoned, { ...zoned, clusterZone: { name: "west.test", pods: "disabled" } }, {}],
    ["a namespace of such a cluster", zoned, { ...zoned, namespaces: {} }, {}],
    [
      "a region with federations",
      { topology: { region: "eu", zones: [] } },
      { topology: { region: "us", zones: [] } },
      { federations: [{ name: "fed", zone: "fed" }] },
    ],
  ])("unless %s is another one", (_, before, after, options) => {
    expect(resumed(world(before), world(before), options).result.withAbsent).toBe(false);
    expect(() => resumed(world(before), world(after), options)).toThrow(DIFFERS);
  });

  it("whatever the region, without federations", () => {
    const after = world({ topology: { region: "us", zones: [] } });
    expect(resumed(world(), after).result.withAbsent).toBe(false);
  });

  it.each([["n0.0"], ["r0.0"], ["n0.0", "r0.0"], ["s"], ["kshop/web"]])(
    "unless %s is missing",
    (...missing) => {
      const reported = { ...world(), isReported: (key: string) => key === "shop/web" };
      const { compile, notes } = noting();
      compile(reported);
      for (const name of missing) expect(notes.texts.delete(name)).toBe(true);
      expect(() => noting(LARGE, {}, notes).resume(reported)).toThrow(DIFFERS);
    },
  );

  it("without a change: nothing is written again", () => {
    const both = world({ ...zoned, exports: { ...exports, ...services(4) } });
    const { compile, notes } = resumed(both, both, {}, SMALL);
    notes.take();
    expect(compile(both, CLUSTERS)).toEqual([]);
    expect(compile(both, NOTHING)).toEqual([]);
  });

  it("in steps of some notes, as they are written", () => {
    const large = world({ exports: services(100) });
    const { compile, notes } = noting(SMALL);
    compile(large);
    const compiler = new ZoneCompiler({}, SMALL, notes.hold, notes);
    const reading = compiler.resume(large);
    let steps = 0;
    while (reading.next().done !== true) steps++;
    expect(notes.texts.size).toBeGreaterThan(100);
    expect(steps).toBe(Math.floor(notes.texts.size / 4));
  });
});

describe("notes are written", () => {
  it("in steps of some notes", () => {
    const notes = new RecordedNotes();
    const compiler = new ZoneCompiler({}, SMALL, notes.hold, notes);
    const compilation = compiler.compile(world({ exports: services(100) }), "all", {
      serial: 1,
      history: NO_HISTORY,
    });
    let most = 0;
    for (let isDone = false; !isDone; ) {
      isDone = compilation.next().done === true;
      most = Math.max(most, notes.take().filter((change) => /^\+[nr]/.test(change)).length);
    }
    const leaves = [...notes.texts.keys()].filter((name) => /^[nr]/.test(name)).length;
    expect(leaves).toBeGreaterThan(100);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(4);
  });
});
