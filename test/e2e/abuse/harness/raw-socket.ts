import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";

/** A loopback address that no ordinary client of these tests has. */
export const ATTACKER = "127.0.0.2";

/** A TCP connection, and what is spoken over it: TLS, or the same socket. */
export interface RawSocket {
  readonly socket: Socket;
  readonly tcp: Socket;
}

/** Its destination, and the TLS options; without `ca` there is no TLS. */
export interface RawSocketOptions {
  readonly port: number;
  readonly ca?: string;
  readonly protocol?: string;
  readonly localAddress?: string;
}

/** Opens a connection that can be cut off below TLS. */
export async function openRaw({ port, ca, protocol, localAddress }: RawSocketOptions): Promise<RawSocket> {
  const tcp = connectTcp({
    port,
    host: "127.0.0.1",
    noDelay: true,
    ...(localAddress !== undefined && { localAddress }),
  });
  // The other side may cut it off at any time.
  tcp.on("error", () => {});
  if (ca === undefined) {
    await once(tcp, "connect");
    return { socket: tcp, tcp };
  }
  const socket = connectTls({
    socket: streamOver(tcp),
    ca,
    servername: "localhost",
    ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
  });
  socket.on("error", () => {});
  const dropped = once(socket, "close").then(() => {
    throw new Error("the connection was dropped before its TLS handshake was over");
  });
  await Promise.race([once(socket, "secureConnect"), dropped]);
  // It may be dropped later on.
  dropped.catch(() => {});
  return { socket, tcp };
}

/**
 * The bytes of a TCP connection as a stream: Node crashes where one is reset whose handle it has given to
 * TLS.
 */
function streamOver(tcp: Socket): Duplex {
  const stream = new Duplex({
    read: () => void tcp.resume(),
    write: (bytes, _, done) => void tcp.write(bytes, () => done()),
    final: (done) => void tcp.end(() => done()),
    destroy: (error, done) => {
      tcp.destroy();
      done(error);
    },
  });
  tcp.on("data", (bytes) => void (stream.push(bytes) || tcp.pause()));
  tcp.on("end", () => stream.push(null));
  tcp.on("close", () => stream.destroy());
  return stream;
}
