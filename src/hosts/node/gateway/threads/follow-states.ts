import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { PostedState, ThreadState } from "./thread-messages.ts";
import type { ThreadSignals } from "./thread-signals.ts";

/** Where states come from, and what takes them. */
export interface StateParts {
  readonly states: MessagePort;
  readonly signals: Pick<ThreadSignals, "posted">;
  /** Takes over what the database has. */
  readonly follow: () => void;
  /** Takes over what was posted. */
  readonly take: (state: ThreadState) => void;
}

/** Until it is asked again whether every thread has a state that came, in milliseconds. The main thread says so at once, unless it is interrupted. */
const SOON = 1;

/**
 * Takes over states as the main thread posts them, and as soon as every thread has them: two connections of a client may reach two threads, and no thread answers
 * from an older state than another thread did before.
 * @returns takes over, at once, what changed by now: a query reads one word of shared memory for it
 */
export function followStates({ states, signals, follow, take }: StateParts): () => void {
  const waiting: PostedState[] = [];
  const takePosted = (posted: number): void => {
    while (waiting.length > 0 && ((waiting[0]!.number - posted) | 0) <= 0) take(waiting.shift()!);
  };
  const takeSoon = (): void => {
    takePosted(signals.posted);
    if (waiting.length > 0) setTimeout(takeSoon, SOON);
  };
  states.on("message", (state: PostedState) => {
    waiting.push(state);
    takeSoon();
  });
  let seen: number | undefined;
  return () => {
    const { posted } = signals;
    if (posted === seen) return;
    for (let next = receiveMessageOnPort(states); next !== undefined; next = receiveMessageOnPort(states))
      waiting.push(next.message as PostedState);
    takePosted(posted);
    follow();
    seen = posted;
  };
}
