import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { StubRegistration, StubZones } from "../../../../forward/stubs/stub-zones.ts";
import type { SharedUpdate } from "../../../../transfer/parts/shared/shared-update.ts";
import type { ThreadState } from "./thread-messages.ts";
import type { ThreadSignals } from "./thread-signals.ts";

/** Where states come from, and what takes them. */
export interface StateParts {
  readonly states: MessagePort;
  readonly signals: Pick<ThreadSignals, "posted">;
  readonly stubs: StubZones;
  readonly take: (update: SharedUpdate) => void;
}

/**
 * Takes over states as the main thread posts them.
 * @returns takes over, at once, what was posted by now: a query reads one word of shared memory for it
 */
export function followStates({ states, signals, stubs, take }: StateParts): () => void {
  const takeState = ({ update, stubs: registrations }: ThreadState): void => {
    if (update !== undefined) take(update);
    if (registrations !== undefined) followStubs(stubs, registrations);
  };
  states.on("message", takeState);
  let seen: number | undefined;
  return () => {
    const { posted } = signals;
    if (posted === seen) return;
    seen = posted;
    for (let next = receiveMessageOnPort(states); next !== undefined; next = receiveMessageOnPort(states))
      takeState(next.message as ThreadState);
  };
}

/** Registers and removes federations until they are those of the main thread, which has stored them. */
function followStubs(stubs: StubZones, registrations: readonly StubRegistration[]): void {
  const names = new Set(registrations.map(({ name }) => name));
  for (const { name } of stubs.list()) if (!names.has(name)) void stubs.remove(name);
  for (const registration of registrations)
    if (JSON.stringify(stubs.get(registration.name)) !== JSON.stringify(registration))
      void stubs.register(registration);
}
