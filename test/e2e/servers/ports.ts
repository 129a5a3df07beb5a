import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type ListenOptions } from "node:net";

// Below the range that the kernel takes ports for outgoing connections from, so that a server that was killed
// finds its port free when it starts again.
const LOWEST = 20_000;
const PORTS = 12_000;

/** A port that is free for TCP and UDP, and that `freePort` gives to no other process on this machine. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = LOWEST + Math.floor(Math.random() * PORTS);
    if ((await isClaimed(port)) && (await isTcpFree(port)) && (await isUdpFree(port))) return port;
  }
  throw new Error("no free port");
}

/** Claims a port by a name that one process alone has until it ends (unix(7): an abstract socket). */
async function isClaimed(port: number): Promise<boolean> {
  return (await listen({ path: `\0clusterset-doh-e2e-port-${port}` })) !== undefined;
}

async function isTcpFree(port: number): Promise<boolean> {
  const server = await listen({ port, host: "127.0.0.1" });
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  return server !== undefined;
}

async function listen(options: ListenOptions) {
  const server = createServer().unref();
  try {
    server.listen(options);
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
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
