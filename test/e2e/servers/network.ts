import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { freePort } from "./ports.ts";

/** A TCP connection to a server that a test can break. */
export interface Network {
  /** Where the server is reached through it, on 127.0.0.1 by default. */
  port: number;
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Lets every connection stand, new ones too, and carries nothing: what a lost route looks like. */
  silence(): void;
  /** Carries everything again. What was silenced stays lost. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** Puts a network in front of 127.0.0.1:`target`, at `address`. */
export async function startNetwork(target: number, address = "127.0.0.1"): Promise<Network> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let silent = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (silent) return;
    const far = connect(target, "127.0.0.1");
    keep(far);
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  const listen = () => new Promise<void>((resolve) => server.listen(port, address, resolve));
  const cut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await listen();
  return {
    port,
    cut,
    silence: () => {
      silent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend: async () => {
      silent = false;
      if (!server.listening) await listen();
    },
    close: async () => {
      if (server.listening) await cut();
    },
  };
}

/** Writes a copy of a kubeconfig that reaches its API server through a network, and returns its path. */
export function kubeconfigThrough(network: Network, kubeconfig: string): string {
  const text = readFileSync(kubeconfig, "utf8");
  const path = `${kubeconfig}-through-${network.port}`;
  writeFileSync(path, text.replaceAll(/127\.0\.0\.1:\d+/g, `127.0.0.1:${network.port}`), { mode: 0o600 });
  return path;
}
