/** Runs tasks one after the other, in the order in which they came. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task when all tasks before it have ended, well or not. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}
