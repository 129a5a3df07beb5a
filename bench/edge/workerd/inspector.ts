import { once } from "node:events";

/** What V8 says of one isolate, in bytes. */
export interface IsolateMemory {
  /** JavaScript objects and strings, with those that are garbage by now. */
  readonly heap: number;
  /** Bytes of array buffers. */
  readonly buffers: number;
}

/** The fields of `Runtime.getHeapUsage` of the Chrome DevTools Protocol. */
interface HeapUsage {
  readonly usedSize: number;
  readonly embedderHeapUsedSize: number;
  readonly backingStorageSize: number;
}

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

const GONE = { message: "workerd has gone" };

/** A connection to workerd's inspector, for one isolate. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      if (reply.id !== undefined) this.#waiting.get(reply.id)?.(reply);
    });
    // As it does where the isolate needs more memory than it may take.
    socket.addEventListener("close", () => {
      for (const [id, answer] of this.#waiting) answer({ id, error: GONE });
    });
  }

  /** @param service the name of the Worker in the configuration */
  static async connect(port: number, service: string): Promise<Inspector> {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
      readonly id: string;
      readonly webSocketDebuggerUrl: string;
    }[];
    const target = targets.find(({ id }) => id === service);
    if (target === undefined)
      throw new Error(`the inspector has no ${service}: ${targets.map(({ id }) => id).join(", ")}`);
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await once(socket, "open");
    return new Inspector(socket);
  }

  async memory(): Promise<IsolateMemory> {
    const usage = (await this.#call("Runtime.getHeapUsage")) as HeapUsage;
    return { heap: usage.usedSize + usage.embedderHeapUsedSize, buffers: usage.backingStorageSize };
  }

  close(): void {
    this.#socket.close();
  }

  async #call(method: string): Promise<unknown> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#waiting.set(id, resolve);
    // A socket that is closed takes messages, and drops them.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ id, method }));
    else resolve({ id, error: GONE });
    const { result, error } = await promise;
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}
