import type { GatewayStages } from "../../src/gateway/stages.ts";
import { createMerger } from "../../src/merge/merge.ts";
import { notReady } from "../../src/resolve/faults.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";

/** The stages as they are served with, for one zone. */
export function realStages(): GatewayStages<Generation> {
  return {
    createMerger: () => createMerger(),
    compile: (clusterset, now, history) =>
      compileGeneration(clusterset, { serial: Math.floor(now / 1000), ttl: 30 }, history),
    resolve: (query, context) => resolve(query, { ...context, rotation: 0, outside: "refuse" }),
    notReady,
  };
}
