import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import { queryBytes } from "../../servers/dns.ts";
import { isQuery, type QueryTransport, type Reaction } from "./query-transport.ts";

/** So many datagrams fit into every buffer on the way. */
const DATAGRAMS = 50;
/** The longest payload of a datagram over IPv4. */
const LONGEST_DATAGRAM = 65_507;

/** Sends queries over UDP. */
export class UdpTransport implements QueryTransport {
  readonly name = "UDP";
  readonly isDatagram = true;
  readonly noQuery = "nothing";
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number): Promise<UdpTransport> {
    const socket = createSocket("udp4");
    socket.connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new UdpTransport(socket);
  }

  async exchange(queries: readonly Buffer[]): Promise<Reaction[]> {
    const reactions: Reaction[] = [];
    for (let start = 0; start < queries.length; start += DATAGRAMS)
      reactions.push(...(await this.#exchangeFew(queries.slice(start, start + DATAGRAMS))));
    return reactions;
  }

  close(): void {
    this.#socket.close();
  }

  async #exchangeFew(queries: readonly Buffer[]): Promise<Reaction[]> {
    const reactions = queries.map((): Reaction => "nothing");
    const indexOf = new Map(
      queries.flatMap((query, index) => (isQuery(query) ? [[query.readUInt16BE(0), index]] : [])),
    );
    let last = 0;
    while (indexOf.has(last)) last++;
    // Datagrams on loopback keep their order: what has no answer before this one has none.
    await new Promise<void>((resolve, reject) => {
      this.#socket.on("message", (answer) => {
        const id = answer.readUInt16BE(0);
        const index = indexOf.get(id);
        if (id === last) resolve();
        else if (index === undefined) reject(new Error(`an answer with the ID ${id}, which was not asked`));
        else if (reactions[index] !== "nothing") reject(new Error("two answers to one query"));
        else reactions[index] = answer;
      });
      for (const query of queries) this.#socket.send(query.subarray(0, LONGEST_DATAGRAM));
      this.#socket.send(queryBytes({ name: "clusterset.local", type: "SOA" }, last));
    }).finally(() => this.#socket.removeAllListeners("message"));
    return reactions;
  }
}

/** Sends queries over TCP or TLS, pipelined; bytes that are not a query end a connection, and the next one is opened. */
export class StreamTransport implements QueryTransport {
  readonly name: string;
  readonly isDatagram = false;
  readonly noQuery = "nothing";
  readonly #open: () => Promise<StreamClient>;
  #client: StreamClient | undefined;

  constructor(name: string, open: () => Promise<StreamClient>) {
    this.name = name;
    this.#open = open;
  }

  async exchange(queries: readonly Buffer[]): Promise<Reaction[]> {
    const reactions: Reaction[] = [];
    for (let start = 0; start < queries.length; ) {
      this.#client ??= await this.#open();
      const found = queries.findIndex((query, index) => index >= start && !isQuery(query));
      const end = found === -1 ? queries.length : found;
      const sent = queries.slice(start, end);
      this.#client.send(...sent);
      for (const _ of sent) reactions.push((await this.#client.next()) ?? "nothing");
      // Bytes that are not a query end the connection, with all answers that were not sent yet.
      if (found !== -1) reactions.push((await this.#client.ask(queries[found]!)) ?? "nothing");
      if (found !== -1) this.close();
      start = found === -1 ? end : found + 1;
    }
    return reactions;
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}
