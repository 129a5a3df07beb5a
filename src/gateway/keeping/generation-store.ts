/** A cluster as it is in a generation. */
export interface CompiledCluster {
  readonly clusterId: string;
  /** That of the push that the generation has. */
  readonly generation: number;
  /** That of the push that last changed when its exports and imports were first seen, as far as the generation has that; 0 for none. */
  readonly ranked?: number | undefined;
  /** How many exports and imports of it exist in the scope. */
  readonly exports: number;
  readonly imports: number;
}

/** What a generation has of a cluster. */
export type CompiledPush = Pick<CompiledCluster, "generation" | "ranked">;

/** What is known of a generation beside itself. */
export interface GenerationFacts {
  readonly services: number;
  /** The live clusters that it was compiled from. */
  readonly clusters: readonly CompiledCluster[];
}

/** Keeps the newest generation of each scope, so that a process that starts again need not compile before it serves. */
export interface GenerationStore<Generation> {
  /**
   * Keeps a generation in place of the one before, whole or not at all. Called in the turn in which it becomes the one that is served, so
   * before any push in it is acknowledged.
   * @param scope as `visibilityKey` has it
   * @throws {Error} if it cannot be kept: then it is not served
   */
  keep(scope: string, generation: Generation, facts: GenerationFacts): void;
  /** The facts of the generation that a process before kept of a scope, if a compiler can go on from it. Default: none can. */
  resumable?(scope: string): GenerationFacts | undefined;
  /** Takes over that the compiler of a scope goes on from there. */
  resumed?(scope: string): void;
}
