import { once } from "node:events";
import type { Socket, TcpNetConnectOpts } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** A loopback address that no ordinary client of these tests has. */
export const ATTACKER = "127.0.0.2";

/** Opens a TLS connection from the attacker's address; no protocol is offered where none is given. */
export async function openTls(port: number, ca: string, protocol?: "h2" | "http/1.1"): Promise<Socket> {
  // Node's type of the options lacks those of TCP.
  const options: ConnectionOptions & TcpNetConnectOpts = {
    port,
    ca,
    host: "127.0.0.1",
    servername: "localhost",
    localAddress: ATTACKER,
    ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
  };
  const socket = connectTls(options);
  socket.on("error", () => {});
  await opened(socket);
  return socket;
}

async function opened(socket: Socket): Promise<void> {
  const dropped = once(socket, "close").then(() => {
    throw new Error("the connection was dropped");
  });
  await Promise.race([once(socket, "secureConnect"), dropped]);
  // It may be dropped later on.
  dropped.catch(() => {});
  // Who does not read does not see that the other side has gone.
  socket.resume();
}
