import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** What a small DNS server says: nothing for undefined, several datagrams for a list (UDP only). */
export type Say = (query: Buffer) => Uint8Array | readonly Uint8Array[] | undefined;

/** A DNS server on 127.0.0.1, over UDP and TCP. */
export interface DnsServer {
  readonly port: number;
  readonly udp: Buffer[];
  readonly tcp: Buffer[];
  /** Source ports of the datagrams. */
  readonly sourcePorts: number[];
  close(): Promise<void>;
}

/** Starts a DNS server that says these things. */
export async function startDnsServer(says: { udp?: Say; tcp?: Say }): Promise<DnsServer> {
  const udp: Buffer[] = [];
  const tcp: Buffer[] = [];
  const sourcePorts: number[] = [];
  const { server, socket, port } = await bindBoth();
  socket.on("message", (query, remote) => {
    udp.push(query);
    sourcePorts.push(remote.port);
    const said = says.udp?.(query);
    for (const datagram of said instanceof Uint8Array ? [said] : (said ?? []))
      socket.send(datagram, remote.port, remote.address);
  });
  server.on("connection", (connection) => {
    connection.on("error", () => {});
    connection.on("data", (bytes) => {
      const query = bytes.subarray(2);
      tcp.push(query);
      const said = says.tcp?.(query);
      if (!(said instanceof Uint8Array)) return connection.destroy();
      // In two parts, as a network may deliver it.
      const framed = Buffer.concat([Buffer.from([said.length >> 8, said.length & 0xff]), said]);
      connection.write(framed.subarray(0, 1));
      setImmediate(() => connection.write(framed.subarray(1)));
    });
  });
  return {
    port,
    udp,
    tcp,
    sourcePorts,
    close: async () => {
      socket.close();
      server.close();
    },
  };
}

/** A port that is free for both protocols. */
async function bindBoth(): Promise<{ server: Server; socket: Socket; port: number }> {
  for (;;) {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const socket = createSocket("udp4");
    try {
      socket.bind(port, "127.0.0.1");
      await once(socket, "listening");
      return { server, socket, port };
    } catch {
      server.close();
    }
  }
}
