/** What a process holds after garbage was collected, in bytes. */
export interface MemoryUse {
  /** JavaScript objects and strings. */
  readonly heap: number;
  /** Bytes of typed arrays. */
  readonly buffers: number;
  /** What the process takes of the machine's memory, with what V8 keeps for later. */
  readonly resident: number;
}

/** @throws {Error} without `node --expose-gc` */
export function memoryInUse(): MemoryUse {
  if (globalThis.gc === undefined) throw new Error("run this program with node --expose-gc");
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers, resident: rss };
}

/** What is held more than `before`. */
export function memoryGrowth(before: MemoryUse): MemoryUse {
  const now = memoryInUse();
  return {
    heap: now.heap - before.heap,
    buffers: now.buffers - before.buffers,
    resident: now.resident - before.resident,
  };
}
