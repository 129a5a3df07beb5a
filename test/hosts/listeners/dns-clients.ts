import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, isIPv6, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** Sends a datagram and takes the first one that comes back. */
export async function askUdp(port: number, query: Uint8Array, host = "127.0.0.1"): Promise<Buffer> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  try {
    // A connected socket receives datagrams only from the queried address.
    socket.connect(port, host);
    await once(socket, "connect");
    socket.send(query);
    const [answer] = (await once(socket, "message")) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
}

/** The datagrams with an answer; their IDs have to differ. */
export async function answeredIds(
  port: number,
  queries: readonly Uint8Array[],
  last: Uint8Array,
): Promise<number[]> {
  const socket = createSocket("udp4");
  const ids: number[] = [];
  try {
    socket.connect(port, "127.0.0.1");
    await once(socket, "connect");
    for (const query of queries) socket.send(query);
    socket.send(last);
    // Datagrams on loopback keep their order, so nothing comes behind the answer to the last one.
    for (;;) {
      const [answer] = (await once(socket, "message")) as [Buffer];
      const id = answer.readUInt16BE(0);
      if (id === ((last[0]! << 8) | last[1]!)) return ids;
      ids.push(id);
    }
  } finally {
    socket.close();
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
export function framed(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([message.length >> 8, message.length & 0xff]), message]);
}
