import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Below the range that the kernel takes ports for outgoing connections from, so that a server that was killed finds
// its port free when it starts again. Each of the workers that vitest runs at a time has ports of its own.
const WORKERS = 4;
const PORTS = 3000;
const lowest = 20_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * PORTS;
const given = new Set<number>();

/** A loopback port that is free for TCP and UDP and was not given out by this process before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = lowest + Math.floor(Math.random() * PORTS);
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
