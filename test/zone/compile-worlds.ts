import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { drain } from "../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { sourceOf } from "../../src/zone/compile.ts";
import type { SegmentWeights } from "../../src/zone/compiler/compiler-state.ts";
import { type HoldSegment, holdInBranch } from "../../src/zone/compiler/held-block.ts";
import type { CompilerNotes } from "../../src/zone/compiler/notes/compiler-notes.ts";
import { type CompiledZones, ZoneCompiler } from "../../src/zone/compiler/zone-compiler.ts";
import type { ZoneOptions } from "../../src/zone/options.ts";
import { NO_HISTORY, type ReverseHistory } from "../../src/zone/reverse/reverse-history.ts";
import type { LocalChange, ZoneChange, ZoneSource } from "../../src/zone/zone-source.ts";

export const OPTIONS: Partial<ZoneOptions> = {
  federations: [{ name: "fed", zone: "federation", domain: "fed.example" }],
  localities: [{ region: "eu" }],
  hosts: [{ name: "gw.shop.svc.clusterset.local", addresses: ["192.0.2.53"] }],
};
/** So small that nearly every key has a segment of its own. */
export const SMALL = { names: 6, reverse: 2 };

export const source = (snapshots: readonly ClusterSnapshot[]) => sourceOf(mergeClusterset(snapshots));

function keysThatDiffer(
  before: { keys(): Iterable<string> } | undefined,
  after: { keys(): Iterable<string> } | undefined,
  differs: (key: string) => boolean,
): string[] {
  return [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].filter(differs);
}

/** What a gateway says changed between two sources. */
export function changeBetween(before: ZoneSource, after: ZoneSource): ZoneChange {
  const settings = ({ clusters, withAbsent }: ZoneSource) => ({
    withAbsent,
    clusters: clusters.map(({ localZone, namespaces, ...rest }) => ({
      ...rest,
      namespaces: [...namespaces.keys()].sort(),
      zone: localZone?.zone,
    })),
  });
  const keysOf = (from: ZoneSource) => ({ keys: () => from.serviceKeys() });
  const local = new Map<string, LocalChange>();
  for (const { clusterId, localZone } of after.clusters) {
    const old = before.clusters.find((one) => one.clusterId === clusterId)?.localZone;
    local.set(clusterId, {
      services: keysThatDiffer(
        old?.services,
        localZone?.services,
        (key) => !isDeepStrictEqual(old?.services.get(key), localZone?.services.get(key)),
      ),
      pods: keysThatDiffer(
        old?.pods,
        localZone?.pods,
        (key) => old?.pods.has(key) !== localZone?.pods.has(key),
      ),
    });
  }
  return {
    clusters: !isDeepStrictEqual(settings(before), settings(after)),
    services: keysThatDiffer(
      keysOf(before),
      keysOf(after),
      (key) => !isDeepStrictEqual(before.service(key), after.service(key)),
    ),
    local,
  };
}

/** Compiles worlds one after the other, as changes or each from scratch. */
export function compileEach(
  sources: readonly ZoneSource[],
  how: "changes" | "scratch",
  weights: SegmentWeights = SMALL,
  options = OPTIONS,
  hold: HoldSegment = holdInBranch,
  notes?: CompilerNotes,
): CompiledZones[] {
  let compiler = new ZoneCompiler(options, weights, hold, notes);
  let history: ReverseHistory = NO_HISTORY;
  return sources.map((one, index) => {
    const before = sources[index - 1];
    if (how === "scratch") compiler = new ZoneCompiler(options, weights, hold, notes);
    const change = before === undefined || how === "scratch" ? "all" : changeBetween(before, one);
    const compiled = drain(compiler.compile(one, change, { serial: 1, history }));
    history = compiled.reverse;
    return compiled;
  });
}

/** Expects the same generations, orders of claims and findings. */
export function expectSame(compiled: readonly CompiledZones[], expected: readonly CompiledZones[]): void {
  expect(hashesOf(compiled)).toEqual(hashesOf(expected));
  expect(ordersOf(compiled)).toEqual(ordersOf(expected));
  expect(findingsOf(compiled)).toEqual(findingsOf(expected));
}

export const hashesOf = (compiled: readonly CompiledZones[]) =>
  compiled.map(({ generation }) => generation.rootHash);
export const ordersOf = (compiled: readonly CompiledZones[]) =>
  compiled.map(({ reverse }) => [...reverse.orders].sort(([one], [other]) => (one < other ? -1 : 1)));
export const findingsOf = (compiled: readonly CompiledZones[]) =>
  compiled.map(({ findings }) => findings.map((finding) => JSON.stringify(finding)).sort());
