import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { StubZones } from "../../../../forward/stubs/stub-zones.ts";
import type { SharedUpdate } from "../../../../transfer/parts/shared/shared-update.ts";
import type { PostedState } from "./thread-messages.ts";
import type { ThreadSignals } from "./thread-signals.ts";

/** Where states come from, and what takes them. */
export interface StateParts {
  readonly states: MessagePort;
  readonly signals: Pick<ThreadSignals, "posted">;
  readonly stubs: Pick<StubZones, "replaceAll">;
  readonly take: (update: SharedUpdate) => void;
}

/** Until it is asked again whether every thread has a state that came, in milliseconds. The main thread says so at once, unless it is interrupted. */
const SOON = 1;

/**
 * Takes over states as the main thread posts them, and as soon as every thread has them: two connections of a client may reach two threads, and no thread answers
 * from an older state than another thread did before.
 * @returns takes over, at once, what was posted by now: a query reads one word of shared memory for it
 */
export function followStates({ states, signals, stubs, take }: StateParts): () => void {
  const waiting: PostedState[] = [];
  const takePosted = (posted: number): void => {
    while (waiting.length > 0 && ((waiting[0]!.number - posted) | 0) <= 0) {
      const { update, stubs: registrations } = waiting.shift()!;
      if (update !== undefined) take(update);
      if (registrations !== undefined) stubs.replaceAll(registrations);
    }
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
    seen = posted;
    for (let next = receiveMessageOnPort(states); next !== undefined; next = receiveMessageOnPort(states))
      waiting.push(next.message as PostedState);
    takePosted(posted);
  };
}
