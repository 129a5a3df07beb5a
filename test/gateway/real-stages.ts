import type { GatewayStages, PartialStages } from "../../src/gateway/stages.ts";
import { createMerger } from "../../src/merge/merge.ts";
import { notReady } from "../../src/resolve/faults.ts";
import { resolve, resolveOrMiss } from "../../src/resolve/resolve.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";

/** The stages as they are served with, for one zone. */
export function realStages(): GatewayStages<Generation> & PartialStages<Generation> {
  return {
    createMerger: () => createMerger(),
    compile: (clusterset, now, history) => {
      const options = { serial: Math.floor(now / 1000), ttl: 30 };
      const { generation: image, ...rest } = compileGeneration(clusterset, options, history);
      return { image, ...rest };
    },
    resolve: (query, context) =>
      resolve(query, { ...context, generation: context.image, rotation: 0, outside: "refuse" }),
    resolveOrMiss: (query, context) =>
      resolveOrMiss(query, { ...context, generation: context.image, rotation: 0, outside: "refuse" }),
    notReady,
  };
}
