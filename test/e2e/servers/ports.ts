import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Below the range that the kernel takes ports for outgoing connections from, so that a server that was killed finds
// its port free when it starts again.
const lowest = 20_000;
const highest = 32_000;
const given = new Set<number>();

/** A loopback port that is free for TCP and UDP and was not given out by this process before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (given.has(port)) continue;
    given.add(port);
    if ((await isTcpFree(port)) && (await isUdpFree(port))) return port;
  }
  throw new Error("no free port");
}

async function isTcpFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

async function isUdpFree(port: number): Promise<boolean> {
  const socket = createSocket("udp4");
  try {
    socket.bind(port, "127.0.0.1");
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}
