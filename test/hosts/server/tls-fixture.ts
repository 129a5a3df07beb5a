import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeAll } from "vitest";
import type { ServerLimits } from "../../../src/config/limits.ts";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { type NodeServerOptions, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { folderOfTests } from "../../folders.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";

/** What tests set of a server. */
interface ServerParts extends Partial<Omit<NodeServerOptions, "listen" | "limits" | "fetch">> {
  readonly fetch?: NodeServerOptions["fetch"] | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  /** Whether it has TLS. Default: true */
  readonly secure?: boolean | undefined;
}

interface Closable {
  on(event: "error", listener: () => void): unknown;
  destroy(): void;
}

/** Resolves when it has closed, whatever happened before. */
export const closed = (emitter: NodeJS.EventEmitter) =>
  new Promise<void>((resolve) => emitter.once("close", () => resolve()));

/** All that comes until it closes. */
export async function received(stream: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  stream.on("data", (part) => parts.push(part)).on("error", () => {});
  await closed(stream);
  return Buffer.concat(parts);
}

/** A certificate for the tests of a file, and the servers and connections of each test, which end with it. */
export function serversOfTests() {
  const folder = folderOfTests();
  let tls: TlsIdentity;
  beforeAll(async () => {
    tls = await keepSelfSigned(folder, "localhost", Date.now());
  });

  const connections: Closable[] = [];
  const servers: Required<Listener>[] = [];
  /** Ends a connection after the test; its errors are expected. */
  function keep<Connection extends Closable>(connection: Connection): Connection {
    connection.on("error", () => {});
    connections.push(connection);
    return connection;
  }
  const tcp = (port: number): Socket => keep(connectTcp(port, "127.0.0.1"));
  const secure = (port: number, protocol: "h2" | "http/1.1"): TLSSocket =>
    keep(connectTls({ host: "127.0.0.1", port, ca: tls.cert, ALPNProtocols: [protocol] }));
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.destroy();
    await Promise.all(servers.splice(0).map((server) => server.stop(0)));
  });
  return {
    get tls(): TlsIdentity {
      return tls;
    },
    /** Starts a server, which is stopped after the test. By default it answers every request with 200. */
    async start({ secure = true, limits, fetch, ...more }: ServerParts = {}): Promise<Required<Listener>> {
      const server = await startNodeServer({
        listen: { host: "127.0.0.1", port: 0 },
        tls: secure ? tls : undefined,
        fetch: fetch ?? (() => new Response("fine")),
        limits: { ...DEFAULT_SERVER_LIMITS, ...limits },
        protection: ownProtection({ ...DEFAULT_SERVER_LIMITS, ...limits }),
        ...more,
      });
      servers.push(server);
      return server;
    },
    tcp,
    secure,
    /** A connection for HTTP/1.1, in clear where `isSecure` is false. */
    http1: (port: number, isSecure: boolean): Socket => (isSecure ? secure(port, "http/1.1") : tcp(port)),
    http2: (port: number): ClientHttp2Session =>
      keep(connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.cert })),
    keep,
  };
}
