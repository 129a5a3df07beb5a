import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drain } from "../../../../src/snapshot/drain.ts";
import type { SegmentWeights } from "../../../../src/zone/compiler/compiler-state.ts";
import { type CompiledZones, ZoneCompiler } from "../../../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY, type ReverseHistory } from "../../../../src/zone/reverse/reverse-history.ts";
import type { ZoneSource } from "../../../../src/zone/zone-source.ts";
import { endpoints, exported, snapshot } from "../../../merge/fixtures.ts";
import { arbitraryWorld } from "../../../worlds/arbitrary.ts";
import { changeBetween, compileEach, expectSame, OPTIONS, source } from "../../compile-worlds.ts";
import { RecordedNotes } from "./recorded-notes.ts";

/** Compiles worlds one after the other, each with a compiler that goes on from the notes of the one before. */
function compileResumed(
  sources: readonly ZoneSource[],
  weights: SegmentWeights,
  options = OPTIONS,
): CompiledZones[] {
  const notes = new RecordedNotes();
  let history: ReverseHistory = NO_HISTORY;
  return sources.map((one, index) => {
    const before = sources[index - 1];
    const compiler = new ZoneCompiler(options, weights, notes.hold, notes);
    const compiled = drain(
      before === undefined
        ? compiler.compile(one, "all", { serial: 1, history })
        : follow(compiler, before, one, history),
    );
    history = compiled.reverse;
    return compiled;
  });
}

function* follow(compiler: ZoneCompiler, before: ZoneSource, after: ZoneSource, history: ReverseHistory) {
  const { reported, sizes } = yield* compiler.resume(before);
  expect(sizes.size).toBe(0);
  const change = changeBetween(before, after);
  return yield* compiler.compile(
    after,
    { ...change, clusters: true, services: new Set([...change.services, ...reported]) },
    { serial: 1, history },
  );
}

/** Memory has no leaf but those that are being compiled, few, or all. */
const arbitraryHeld = fc.constantFrom(0, 0, 30, 1e9);
const arbitraryWeights = fc
  .tuple(fc.constantFrom(6, 20, 60, 1e9), arbitraryHeld, fc.constantFrom(0, 5, 1e9))
  .map(([names, held, fresh]) => ({ ...{ names, held, fresh }, reverse: 2 }));

describe("a compiler that goes on from the notes of another one", () => {
  it("compiles what that one would have: hashes, orders of claims, findings", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryWorld, { minLength: 2, maxLength: 4 }),
        arbitraryWeights,
        fc.constantFrom(OPTIONS, { hosts: OPTIONS.hosts! }, {}),
        (worlds, weights, options) => {
          const sources = worlds.map(source);
          const resumed = compileResumed(sources, weights, options);
          const scratch = compileEach(sources, "scratch", weights, options);
          expectSame(resumed, scratch);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("compiles what one without notes does where leaves are read again that are not in memory", () => {
    let reads = 0;
    fc.assert(
      fc.property(
        fc.array(arbitraryWorld, { minLength: 2, maxLength: 6 }),
        arbitraryWeights,
        (worlds, weights) => {
          const notes = new RecordedNotes();
          const get = notes.get.bind(notes);
          notes.get = (name) => {
            reads++;
            return get(name);
          };
          const sources = worlds.map(source);
          const noted = compileEach(sources, "changes", weights, OPTIONS, notes.hold, notes);
          expectSame(noted, compileEach(sources, "changes", weights, OPTIONS, notes.hold));
        },
      ),
      { numRuns: 200 },
    );
    expect(reads).toBeGreaterThan(1000);
  });

  it("merges nothing of what did not change", () => {
    const keys = Array.from({ length: 200 }, (_, index) => `shop/web-${index}`);
    const world = [
      snapshot("west", {
        exports: Object.fromEntries(
          keys.map((key, index) => [
            key,
            exported({
              headless: true,
              endpoints: endpoints({ address: `10.0.${index}.1` }, { address: `10.0.${index}.2` }),
            }),
          ]),
        ),
      }),
    ];
    const notes = new RecordedNotes();
    const before = source(world);
    const compiled = drain(
      new ZoneCompiler({}, { names: 20, reverse: 20 }, notes.hold, notes).compile(before, "all", {
        serial: 1,
        history: NO_HISTORY,
      }),
    );
    const merged: string[] = [];
    const watched: ZoneSource = {
      ...before,
      serviceKeys: () => before.serviceKeys(),
      sizeOf: (key) => before.sizeOf(key),
      service: (key) => {
        merged.push(key);
        return before.service(key);
      },
    };
    const compiler = new ZoneCompiler({}, { names: 20, reverse: 20 }, notes.hold, notes);
    drain(compiler.resume(watched));
    const change = { clusters: true, services: ["shop/web-7"], local: new Map() };
    const again = drain(compiler.compile(watched, change, { serial: 1, history: NO_HISTORY }));
    expect(again.generation.rootHash).toBe(compiled.generation.rootHash);
    expect(merged).toEqual(["shop/web-7"]);
  });

  it("does not go on if any note is missing, and compiles everything then", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(), (world, at) => {
        const notes = new RecordedNotes();
        const create = () => new ZoneCompiler(OPTIONS, { names: 20, reverse: 2 }, notes.hold, notes);
        const asked = { serial: 1, history: NO_HISTORY };
        const { generation } = drain(create().compile(source(world), "all", asked));
        const names = [...notes.texts.keys()];
        notes.texts.delete(names[at % names.length]!);
        const compiler = create();
        expect(() => drain(compiler.resume(source(world)))).toThrow();
        const next = { clusters: true, services: [], local: new Map() };
        const again = drain(compiler.compile(source(world), next, asked));
        expect(again.generation.rootHash).toBe(generation.rootHash);
        expect([...notes.texts.keys()].sort()).toEqual(names.sort());
      }),
      { numRuns: 60 },
    );
  });
});
