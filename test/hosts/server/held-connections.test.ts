import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { HeldConnections } from "../../../src/hosts/node/server/connections.ts";
import { ownCount, SharedCounts } from "../../../src/limits/counters.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import { type AcceptedSocket, socketFrom } from "./accepted-socket.ts";

const MOST = 250;
/** One for 100 connections, rounded up. */
const MOST_LEAVING = 3;

afterEach(() => {
  vi.useRealTimers();
});

/** The connections of two threads, whose clients speak HTTP/2 and close none. */
function openThreads() {
  const memory = SharedCounts.allocate(2);
  const sockets: AcceptedSocket[] = [];
  const announced: AcceptedSocket[] = [];
  const threads = [0, 1].map((thread) => {
    const counts = new SharedCounts(memory, thread);
    return new HeldConnections(
      { ...DEFAULT_SERVER_LIMITS, connections: MOST },
      {
        ...ownProtection(),
        connections: counts.of("connections"),
        leaving: counts.of("connections.leaving"),
      },
    );
  });
  const open = (thread: number) => {
    const socket = socketFrom(sockets.length + 1);
    sockets.push(socket);
    const held = threads[thread]!.admit(socket);
    if (held !== undefined) held.http2 = { end: () => void announced.push(socket) } as never;
  };
  return { open, sockets, announced, stillOpen: () => sockets.filter(({ destroyed }) => !destroyed) };
}

it.each([
  ["one thread has all of them", () => 0],
  ["two threads take turns", (index: number) => index % 2],
  ["one thread has most of them", (index: number) => (index < MOST - 2 || index % 50 === 0 ? 0 : 1)],
])("connections that are closed for others count until few are left open: %s", async (_, threadOf) => {
  const { open, announced, stillOpen } = openThreads();
  let most = 0;
  for (let index = 0; index < 4 * MOST; index++) {
    open(threadOf(index));
    // Events of closed sockets come later than the next connection, or earlier.
    if (index % 7 === 0) await Promise.resolve();
    most = Math.max(most, stillOpen().length);
  }
  expect(most).toBeLessThanOrEqual(MOST + MOST_LEAVING);
  expect(most).toBeGreaterThan(MOST);
  // The latest have time for what was announced to them.
  const waiting = announced.filter(({ destroyed }) => !destroyed);
  expect(waiting.length).toBeGreaterThan(0);
  expect(waiting.length).toBeLessThanOrEqual(MOST_LEAVING);
});

it("a place of a connection that left is free again when its socket has closed", async () => {
  const { open, announced, stillOpen } = openThreads();
  for (let index = 0; index < MOST + MOST_LEAVING; index++) open(0);
  expect(stillOpen()).toHaveLength(MOST + MOST_LEAVING);
  for (const socket of announced) socket.destroy();
  await Promise.resolve();
  for (let index = 0; index < MOST_LEAVING; index++) open(1);
  for (let index = 0; index < MOST_LEAVING; index++) open(0);
  expect(announced.filter(({ destroyed }) => !destroyed)).toHaveLength(MOST_LEAVING);
});

/** A connection opens; a request of one begins; one of its requests ends; one closes. */
const STEPS = fc.array(fc.tuple(fc.constantFrom("open", "begin", "end", "close"), fc.nat({ max: 5 })), {
  minLength: 20,
  maxLength: 200,
});

it("the connection that goes for a new one never had a request, else has been without one for longest", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  fc.assert(
    fc.property(STEPS, (steps) => {
      const [connections, leaving] = [ownCount("connections"), ownCount("connections.leaving")];
      const limits = { ...DEFAULT_SERVER_LIMITS, connections: 4, idleSeconds: 1000 };
      const held = new HeldConnections(limits, { ...ownProtection(), connections, leaving });
      /** Those that are open, by how long nothing has begun or ended on them. */
      let model: { socket: AcceptedSocket; hasAsked: boolean; open: number }[] = [];
      for (const [step, index] of steps) {
        vi.advanceTimersByTime(2000);
        const known = model[index];
        const one = known && held.of(known.socket as never);
        if (step === "open") {
          const idle = model.filter(({ open }) => open === 0);
          const goes = model.length < 4 ? undefined : (idle.find(({ hasAsked }) => !hasAsked) ?? idle[0]);
          const socket = socketFrom(
            model.length === 0 ? 1 : Math.max(...model.map((o) => o.socket.remotePort)) + 1,
          );
          const isAdmitted = held.admit(socket) !== undefined;
          expect(isAdmitted).toBe(model.length < 4 || goes !== undefined);
          expect(model.map((other) => other.socket.destroyed)).toEqual(model.map((other) => other === goes));
          model = model.filter((other) => other !== goes);
          if (isAdmitted) model.push({ socket, hasAsked: false, open: 0 });
        } else if (known !== undefined && one !== undefined) {
          if (step === "begin") {
            held.began(one, performance.now());
            known.hasAsked = true;
            known.open++;
          } else if (step === "end" && known.open > 0) {
            held.ended(one);
            known.open--;
          } else if (step === "close") known.socket.emit("close");
          else continue;
          model = model.filter((other) => other !== known);
          if (step !== "close") model.push(known);
        }
      }
    }),
  );
});
