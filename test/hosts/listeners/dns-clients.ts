import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, isIPv6, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { frameMessage } from "../../../src/hosts/node/listeners/stream-connection.ts";

/** A connected socket, which receives datagrams only from the queried address. */
async function openUdp(port: number, host = "127.0.0.1") {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  socket.connect(port, host);
  await once(socket, "connect");
  return socket;
}

/** Sends a datagram and takes the first one that comes back. */
export async function askUdp(port: number, query: Uint8Array, host?: string): Promise<Buffer> {
  const socket = await openUdp(port, host);
  socket.send(query);
  const [answer] = (await once(socket, "message").finally(() => socket.close())) as [Buffer];
  return answer;
}

/** The IDs of the datagrams with an answer, which have to differ. */
export async function answeredIds(port: number, queries: readonly Uint8Array[], last: Uint8Array) {
  const socket = await openUdp(port);
  for (const query of [...queries, last]) socket.send(query);
  const ids: number[] = [];
  // Datagrams on loopback keep their order, so nothing comes behind the answer to the last one.
  for (;;) {
    const [answer] = (await once(socket, "message")) as [Buffer];
    ids.push(answer.readUInt16BE());
    if (ids.at(-1) !== Buffer.from(last).readUInt16BE()) continue;
    socket.close();
    return ids.slice(0, -1);
  }
}

/** A client of DNS over TCP or TLS that reads messages one by one. */
export class StreamClient {
  readonly socket: Socket;
  /** Resolves when the server has closed its half, or the connection is gone. */
  readonly closed: Promise<unknown>;
  #received = Buffer.alloc(0);
  #changed: () => void = () => {};
  #hasEnded = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once("end", resolve);
      socket.once("close", resolve);
    });
    socket.on("error", () => {});
    socket.on("data", (part) => {
      this.#received = Buffer.concat([this.#received, part as Buffer]);
      this.#changed();
    });
    const end = () => {
      this.#hasEnded = true;
      this.#changed();
    };
    socket.on("end", end);
    socket.on("close", end);
  }

  static async tcp(
    port: number,
    options: { host?: string; localAddress?: string } = {},
  ): Promise<StreamClient> {
    const socket = connectTcp({ port, host: "127.0.0.1", allowHalfOpen: true, ...options });
    const client = new StreamClient(socket);
    await once(socket, "connect");
    return client;
  }

  static async tls(port: number, options: ConnectionOptions): Promise<StreamClient> {
    const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ...options });
    const client = new StreamClient(socket);
    await once(socket, "secureConnect");
    return client;
  }

  /** Sends messages in one write. */
  send(...messages: Uint8Array[]): void {
    this.socket.write(Buffer.concat(messages.map(framed)));
  }

  /** The next message; undefined where the connection was closed instead. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const held = this.#received;
      const end = held.length < 2 ? Number.POSITIVE_INFINITY : 2 + held.readUInt16BE(0);
      if (held.length >= end) {
        this.#received = held.subarray(end);
        return held.subarray(2, end);
      }
      if (this.#hasEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  async ask(query: Uint8Array): Promise<Buffer | undefined> {
    this.send(query);
    return this.next();
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A message behind its length. */
export const framed = frameMessage;
