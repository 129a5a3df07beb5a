import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { Connections } from "../../../src/hosts/node/listeners/stream.ts";
import { ConnectionPool, PooledConnection } from "../../../src/hosts/node/server/connection-pool.ts";
import { ConnectionGuard } from "../../../src/hosts/node/server/connections.ts";
import { ConnectionErrors, LimitCounters, ownCount, SharedCounts } from "../../../src/limits/counters.ts";
import { SharedClientCounts } from "../../../src/limits/shared.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";

/** A socket of a connection from a port, which closes a turn after `destroy`, as Node's do. */
function socketFrom(remotePort: number) {
  const addresses = { remoteAddress: "192.0.2.1", localAddress: "192.0.2.53", localPort: 853 };
  const socket = Object.assign(new EventEmitter(), { ...addresses, remotePort, destroyed: false, destroy });
  function destroy(): void {
    if (!socket.destroyed) queueMicrotask(() => socket.emit("close"));
    socket.destroyed = true;
  }
  return socket as typeof socket & Socket;
}
type AcceptedSocket = ReturnType<typeof socketFrom>;

const MOST = 250;
/** One for 100 connections, rounded up. */
const MOST_LEAVING = 3;

const guards: ConnectionGuard[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const guard of guards.splice(0)) guard.close();
});

function guardOf(...parts: ConstructorParameters<typeof ConnectionGuard>): ConnectionGuard {
  const guard = new ConnectionGuard(...parts);
  guards.push(guard);
  return guard;
}

/** The connections of two threads, whose clients speak HTTP/2 and close none. */
function openThreads() {
  const memory = SharedCounts.allocate(2);
  const sockets: AcceptedSocket[] = [];
  const announced: AcceptedSocket[] = [];
  const threads = [0, 1].map((thread) => {
    const counts = new SharedCounts(memory, thread);
    return guardOf(
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
    const guard = threads[thread]!;
    guard.admit(socket);
    const held = guard.heldBelow(socket);
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

/** Time passes, and a connection opens; a request of one begins; one of its requests ends; one closes. */
const STEPS = fc.array(
  fc.tuple(fc.constantFrom("open", "begin", "end", "close"), fc.nat({ max: 5 }), fc.constantFrom(300, 2000)),
  { minLength: 20, maxLength: 200 },
);

/** A connection of the model; `asked` is when its last request began or ended. */
type Modelled = { socket: AcceptedSocket; at: number; asked?: number; open: number };

/** Which one goes for a new one: one that had no request for a second, else the longest idle one. */
function goingFor(model: readonly Modelled[], now: number): Modelled | undefined {
  const silent = model.find(({ asked }) => asked === undefined);
  const idle = model.find(({ asked, open }) => asked !== undefined && open === 0);
  if (silent === undefined || idle === undefined) return silent ?? idle;
  return now - silent.at > 1000 || silent.at < idle.asked! ? silent : idle;
}

it("the connection that goes for a new one had no request in its first second, else has been without one for longest", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  fc.assert(
    fc.property(STEPS, (steps) => {
      const pool = new ConnectionPool({
        counters: new LimitCounters(),
        all: { limit: "limits.connections", most: 4, open: ownCount("connections") },
        clients: undefined,
        create: (socket, slot) => new PooledConnection(socket, slot),
        close: ({ socket }) => socket.destroy(),
      });
      /** Those that are open, by how long nothing has begun or ended on them. */
      let model: Modelled[] = [];
      let ports = 0;
      for (const [step, index, milliseconds] of steps) {
        vi.advanceTimersByTime(milliseconds);
        const at = performance.now();
        const known = model[index];
        if (step === "open") {
          const goes = model.length < 4 ? undefined : goingFor(model, at);
          const socket = socketFrom(++ports);
          const isAdmitted = pool.admit(socket, undefined) !== undefined;
          expect(isAdmitted).toBe(model.length < 4 || goes !== undefined);
          expect(model.map((other) => other.socket.destroyed)).toEqual(model.map((other) => other === goes));
          model = model.filter((other) => other !== goes);
          if (isAdmitted) model.push({ socket, at, open: 0 });
        } else if (known !== undefined && (step !== "end" || known.open > 0)) {
          const one = pool.of(known.socket as never)!;
          if (step === "close") known.socket.emit("close");
          else if (step === "end") pool.ended(one);
          else pool.began(one, at);
          if (step !== "close") known.asked = at;
          known.open += { begin: 1, end: -1, close: 0 }[step];
          model = model.filter((other) => other !== known);
          if (step !== "close") model.push(known);
        }
      }
    }),
  );
});

const clientCounts = () => new SharedClientCounts(SharedClientCounts.allocate(10, 1), 0);
const networks = { of: (address: string) => address };

/** Admits connections to each server, of which a client may have two. */
const servers = {
  "DNS over TCP and TLS": () => {
    const connections = new Connections({
      kind: "dot",
      settings: { connections: 10, connectionsPerClient: 2, idleSeconds: 1, queriesPerConnection: 1 },
      limits: { queryBytes: 512, handshakeSeconds: 1 },
      networks,
      open: { all: ownCount("dot.connections"), clients: clientCounts() },
      counters: { limits: new LimitCounters(), errors: new ConnectionErrors() },
      onError: () => {},
    });
    return { admit: (socket: Socket) => connections.admit(socket), end: () => connections.destroyAll() };
  },
  HTTP: () => {
    const clients = { networks, connections: 2, open: clientCounts(), rate: { take: () => 0 } };
    const protection = { ...ownProtection(), clients: clients as never };
    const guard = guardOf({ ...DEFAULT_SERVER_LIMITS, connections: 10 }, protection);
    return { admit: guard.admit, end: () => guard.destroyAll() };
  },
};

it.each(Object.entries(servers))(
  "%s: a client that connects again from the port of a reset that Node did not notice has the place of that connection",
  async (_, start) => {
    const { admit, end } = start();
    const [stale, next, other, third] = [50_000, 50_000, 50_001, 50_002].map(socketFrom);
    for (const socket of [stale!, next!, other!]) {
      admit(socket);
      await Promise.resolve();
    }
    expect([stale!.destroyed, next!.destroyed, other!.destroyed]).toEqual([true, false, false]);
    admit(third!);
    expect([next!, other!, third!].filter(({ destroyed }) => !destroyed)).toHaveLength(2);
    end();
    expect([next!, other!, third!].every(({ destroyed }) => destroyed)).toBe(true);
  },
);
