/** Runs tasks one after the other, beside everything else. */
export class Background {
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Resolves when the task is done, or would begin after the end. */
  run(task: () => Promise<void>): Promise<void> {
    const done = this.#last.then(() => (this.#isClosed ? undefined : task()));
    this.#last = done.catch(() => {});
    return done;
  }

  /** No further task begins. */
  close(): void {
    this.#isClosed = true;
  }
}
