import { type ClientHttp2Session, connect } from "node:http2";
import type { GatewayProcess } from "./processes.ts";

/** A response over one HTTP/2 connection. */
export interface Got {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}

/** A connection of its own, which the kernel gives to one of the threads. */
export class Connection {
  readonly session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.session = session;
  }

  /** @param localAddress the client's address. Default: the system chooses it */
  static open(gateway: GatewayProcess, localAddress?: string): Promise<Connection> {
    const session = connect(gateway.url, { ca: gateway.ca, ...(localAddress && { localAddress }) });
    return new Promise((resolve, reject) => {
      session.once("connect", () => resolve(new Connection(session)));
      session.on("error", reject);
    });
  }

  get(path: string, headers: Record<string, string> = {}, body?: string | Uint8Array): Promise<Got> {
    return new Promise((resolve, reject) => {
      const stream = this.session.request({ ":path": path, ...headers }, { endStream: body === undefined });
      if (body !== undefined) stream.end(body);
      let fields: Record<string, unknown> = {};
      const parts: Buffer[] = [];
      stream.on("response", (response) => {
        fields = response;
      });
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () =>
        resolve({ status: Number(fields[":status"]), headers: fields, body: Buffer.concat(parts) }),
      );
      stream.on("error", reject);
    });
  }

  /** The addresses of a name. */
  async addresses(name: string): Promise<string[]> {
    const { body } = await this.get(`/resolve?name=${name}&type=A`);
    const { Answer = [] } = JSON.parse(body.toString()) as { Answer?: { data: string }[] };
    return Answer.map(({ data }) => data).sort();
  }

  close(): void {
    this.session.destroy();
  }
}

/** So many connections that each thread of two has some, but once in thousands of millions of runs. */
export const MANY = 32;

/** Many connections at the same time. */
export function openMany(gateway: GatewayProcess): Promise<Connection[]> {
  return Promise.all(Array.from({ length: MANY }, () => Connection.open(gateway)));
}
