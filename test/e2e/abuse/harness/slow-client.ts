import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

/** A loopback address that no ordinary client of these tests has. */
export const ATTACKER = "127.0.0.2";

const PAUSE_MS = 50;

/** Opens a TCP connection from the attacker's address. */
export async function openTcp(port: number): Promise<Socket> {
  const socket = connectTcp({ port, host: "127.0.0.1", localAddress: ATTACKER });
  // The other side may cut it off at any time.
  socket.on("error", () => {});
  await opened(socket, "connect");
  return socket;
}

/** Opens a TLS connection from the attacker's address; no protocol is offered where none is given. */
export async function openTls(port: number, ca: string, protocol?: "h2" | "http/1.1"): Promise<Socket> {
  const socket = connectTls({
    ...{ port, ca, host: "127.0.0.1", servername: "localhost", localAddress: ATTACKER },
    ...(protocol !== undefined && { ALPNProtocols: [protocol] }),
  });
  socket.on("error", () => {});
  await opened(socket, "secureConnect");
  return socket;
}

async function opened(socket: Socket, event: "connect" | "secureConnect"): Promise<void> {
  const dropped = once(socket, "close").then(() => {
    throw new Error("the connection was dropped");
  });
  await Promise.race([once(socket, event), dropped]);
  // It may be dropped later on.
  dropped.catch(() => {});
  // Who does not read does not see that the other side has gone.
  socket.resume();
}

/**
 * Sends the first bytes at once and the others one by one with a pause, for ever, until the other side ends the connection: for ever
 * means that the test runs into its deadline.
 * @returns what was received
 */
export async function dripUntilClosed(socket: Socket, atOnce: string | Buffer, then = "x"): Promise<string> {
  let received = "";
  socket.on("data", (part) => {
    received += part.toString("latin1");
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.once("end", () => socket.destroy());
  });
  if (atOnce.length > 0) socket.write(atOnce);
  for (let next = 0; !socket.destroyed; next = (next + 1) % Math.max(1, then.length)) {
    if (then !== "" && socket.writable) socket.write(then[next]!);
    await Promise.race([closed, sleep(PAUSE_MS)]);
  }
  return received;
}
