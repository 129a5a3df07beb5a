import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Connections } from "../../../src/hosts/node/listeners/stream.ts";
import { HeldConnections } from "../../../src/hosts/node/server/connections.ts";
import { ConnectionErrors, LimitCounters, ownCount } from "../../../src/limits/counters.ts";
import { SharedClientCounts } from "../../../src/limits/shared.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import { socketFrom } from "./accepted-socket.ts";

const closed = () => new Promise<void>((resolve) => setImmediate(resolve));

const clientCounts = () => new SharedClientCounts(SharedClientCounts.allocate(10, 1), 0);

/** What both servers have: plain DNS and DNS over TLS, and HTTP. */
const tables = {
  "DNS over TCP and TLS": () => {
    const settings = { connections: 10, connectionsPerClient: 2, idleSeconds: 1, queriesPerConnection: 1 };
    const limits = { queryBytes: 512, handshakeSeconds: 1 };
    const counters = { limits: new LimitCounters(), errors: new ConnectionErrors() };
    const open = { all: ownCount("dot.connections"), clients: clientCounts() };
    const networks = { of: (address: string) => address };
    const connections = new Connections({
      kind: "dot",
      settings,
      limits,
      networks,
      open,
      counters,
      onError: () => {},
    });
    return { admit: (socket: Socket) => connections.admit(socket), end: () => connections.destroyAll() };
  },
  HTTP: () => {
    const networks = { of: (address: string) => address };
    const clients = { networks, connections: 2, open: clientCounts(), rate: { take: () => 0 } };
    const held = new HeldConnections(
      { ...DEFAULT_SERVER_LIMITS, connections: 10 },
      { ...ownProtection(), clients: clients as never },
    );
    const end = () => {
      for (const { socket } of held.all()) socket.destroy();
    };
    return { admit: (socket: Socket) => void held.admit(socket), end };
  },
};

describe.each(Object.entries(tables))(
  "%s: a client connects again from the port of a reset that Node did not notice",
  (_, start) => {
    it("the stale connection is closed, and the new one is bounded like any other", async () => {
      const { admit, end } = start();
      const [stale, next] = [socketFrom(50_000), socketFrom(50_000)];
      admit(stale);
      admit(next);
      await closed();
      expect([stale.destroyed, next.destroyed]).toEqual([true, false]);
      end();
      expect(next.destroyed).toBe(true);
    });

    it("the place of the stale connection is free for one more of the same client", async () => {
      const { admit } = start();
      const [stale, next, other] = [socketFrom(50_000), socketFrom(50_000), socketFrom(50_001)];
      admit(stale);
      admit(next);
      await closed();
      admit(other);
      await closed();
      expect([next.destroyed, other.destroyed]).toEqual([false, false]);
    });
  },
);
