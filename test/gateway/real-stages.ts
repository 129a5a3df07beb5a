import type { GatewayStages, PartialStages, ScopeCompiler } from "../../src/gateway/stages.ts";
import { notReady } from "../../src/resolve/error-responses.ts";
import { resolve, resolveOrMiss } from "../../src/resolve/resolve.ts";
import type { SegmentWeights } from "../../src/zone/compiler/compiler-state.ts";
import type { HoldSegment } from "../../src/zone/compiler/held-block.ts";
import type { CompilerNotes } from "../../src/zone/compiler/notes/compiler-notes.ts";
import { ZoneCompiler } from "../../src/zone/compiler/zone-compiler.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";
import type { ZoneOptions } from "../../src/zone/options.ts";
import { NO_HISTORY } from "../../src/zone/reverse/reverse-history.ts";

/** The stages as they are served with, for one zone. */
export function realStages(): GatewayStages<Generation> & PartialStages<Generation> {
  return {
    createCompiler: () => realCompiler({ ttl: 30 }),
    resolve: (query, context) => resolve(query, { ...context, rotation: 0, outside: "refuse" }),
    resolveOrMiss: (query, context) => resolveOrMiss(query, { ...context, rotation: 0, outside: "refuse" }),
    notReady,
  };
}

/** A compiler as the gateway has it. @param options with a serial, it is that of all generations; otherwise the time in seconds */
export function realCompiler(
  { serial, ...options }: Partial<ZoneOptions>,
  hold?: HoldSegment,
  weights?: SegmentWeights,
  notes?: CompilerNotes,
): ScopeCompiler<Generation> {
  const compiler = new ZoneCompiler(options, weights, hold, notes);
  return {
    resume: (source) => compiler.resume(source),
    *compile(source, change, now, history = NO_HISTORY) {
      const asked = { serial: serial ?? Math.floor(now / 1000), history };
      return yield* compiler.compile(source, change, asked);
    },
  };
}
