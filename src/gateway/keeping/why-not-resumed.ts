import type { CompiledPush, GenerationFacts } from "./generation-store.ts";

/**
 * Why a compiler cannot go on from a kept generation; undefined where it can.
 * @param kept undefined where none is kept with all that a compiler needs
 * @param joined the clusters that there are now
 */
export function whyNotResumed(
  kept: GenerationFacts | undefined,
  joined: ReadonlyMap<string, CompiledPush>,
): string | undefined {
  if (kept === undefined) return "no generation is kept with what its compiler noted";
  for (const { clusterId, generation, ranked } of kept.clusters) {
    const now = joined.get(clusterId);
    if (now === undefined) return `the kept generation has ${clusterId}, which is not stored any more`;
    if (now.generation !== generation) return `the kept generation lacks the newest push of ${clusterId}`;
    if (ranked === undefined || now.ranked !== ranked)
      return `when services of ${clusterId} were first seen is not what it was in the kept generation`;
  }
  if (joined.size > kept.clusters.length) return "the kept generation has fewer clusters";
  return undefined;
}
