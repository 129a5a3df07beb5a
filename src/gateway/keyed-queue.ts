/** Runs tasks with the same key one after the other, and tasks with different keys side by side. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` when all tasks before it with the same key have ended, well or not. */
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(task);
    const ended = result.then(ignore, ignore).then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    this.#last.set(key, ended);
    return result;
  }

  /** Resolves when no task is left. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function ignore(): void {}
