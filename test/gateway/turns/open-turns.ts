import { Turns } from "../../../src/gateway/clock.ts";

/** Turns of a clock that stands still, as that of a Worker does while it computes. */
export function openTurns() {
  const waiting: (() => void)[] = [];
  let time = 0;
  const turns = new Turns({
    now: () => time,
    nextTurn: (run) => void waiting.push(run),
    setTimer: () => () => {},
  });
  return {
    turns,
    /** How many turns were asked for and not given. */
    waiting: () => waiting.length,
    pass: (milliseconds: number) => {
      time += milliseconds;
    },
    /** Gives the next turn; resolves when whoever had it waits or is done. */
    async next() {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
