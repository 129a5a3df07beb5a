import type { GatewayStages, PartialStages } from "../../src/gateway/stages.ts";
import { notReady } from "../../src/resolve/faults.ts";
import { resolve, resolveOrMiss } from "../../src/resolve/resolve.ts";
import { type CompiledZones, compileGeneration } from "../../src/zone/compile.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";

/** The stages as they are served with, for one zone. */
export function realStages(): GatewayStages<Generation> & PartialStages<Generation> {
  return {
    compile: (clusterset, now, history) =>
      served(compileGeneration(clusterset, { serial: Math.floor(now / 1000), ttl: 30 }, history)),
    resolve: (query, { image, ...context }) =>
      resolve(query, { ...context, generation: image, rotation: 0, outside: "refuse" }),
    resolveOrMiss: (query, { image, ...context }) =>
      resolveOrMiss(query, { ...context, generation: image, rotation: 0, outside: "refuse" }),
    notReady,
  };
}

/** What was compiled, as the gateway serves it. */
export function served({ generation, ...compiled }: CompiledZones) {
  return { ...compiled, image: generation };
}
