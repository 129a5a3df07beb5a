import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type NodeServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";

interface Closable {
  on(event: "error", listener: () => void): unknown;
  destroy(): void;
}

/**
 * A certificate for the tests of a file, and the servers and connections of each test, which end with it.
 * @param name of the file
 */
export function serversOf(name: string) {
  let folder: string;
  let tls: TlsIdentity;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), `clusterset-doh-${name}-`));
    tls = await keepSelfSigned(folder, "localhost", Date.now());
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const connections: Closable[] = [];
  const servers: NodeServer[] = [];
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.destroy();
    await Promise.all(servers.splice(0).map((server) => server.stop(0)));
  });
  return {
    get tls(): TlsIdentity {
      return tls;
    },
    anotherCertificate: () => keepSelfSigned(join(folder, "other"), "localhost", Date.now()),
    /** Starts a server that answers every request with 200, and stops it after the test. @returns its port */
    async startFine(): Promise<number> {
      const server = await startNodeServer({
        listen: { host: "127.0.0.1", port: 0 },
        tls,
        fetch: () => new Response("fine"),
        limits: DEFAULT_SERVER_LIMITS,
        protection: ownProtection(),
      });
      servers.push(server);
      return server.address.port;
    },
    /** Stops a server after the test. */
    stopLater(server: NodeServer): void {
      servers.push(server);
    },
    /** Ends a connection after the test; its errors are expected. */
    keep<Connection extends Closable>(connection: Connection): Connection {
      connection.on("error", () => {});
      connections.push(connection);
      return connection;
    },
  };
}
