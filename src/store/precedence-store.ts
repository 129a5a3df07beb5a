/**
 * Keeps what a gateway remembers of when it first heard of exports, as text by name: a cluster id, or `@` and a word.
 * It outlives snapshots: a cluster that leaves and comes back is remembered.
 */
export interface PrecedenceStore {
  /** Everything that can be read. What is damaged is left out. */
  load(): Promise<ReadonlyMap<string, string>>;
  /** When it resolves, the text survives the death of the process. */
  keep(name: string, text: string): Promise<void>;
}

/** A store that lives as long as the process. */
export function createMemoryPrecedenceStore(): PrecedenceStore {
  const texts = new Map<string, string>();
  return {
    load: async () => new Map(texts),
    keep: async (name, text) => {
      texts.set(name, text);
    },
  };
}
