import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** The orders that a program carries out, by name. */
export type Orders = Readonly<Record<string, () => unknown>>;

/** A program of ours that runs beside the benchmark and carries out orders. It ends with the benchmark. */
export class ForkedProgram {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Starts it and waits until it takes orders. @param spec what it reads by `readSpec` */
  static async start(path: string, spec: unknown): Promise<ForkedProgram> {
    const program = new ForkedProgram(fork(path, { serialization: "advanced" }));
    program.#process.send(spec as object);
    await program.#answer();
    return program;
  }

  /** Gives an order; resolves with what the program answers. @throws {Error} where it ends instead */
  async tell(order: string): Promise<unknown> {
    const answer = this.#answer();
    this.#process.send(order);
    return answer;
  }

  stop(): void {
    this.#process.kill();
  }

  async #answer(): Promise<unknown> {
    const settled = new AbortController();
    const { signal } = settled;
    const ended = once(this.#process, "exit", { signal }).then(([code]) => {
      throw new Error(`the program beside the benchmark ended with ${code}`);
    });
    ended.catch(() => {});
    try {
      const [answer] = await Promise.race([once(this.#process, "message", { signal }), ended]);
      return answer;
    } finally {
      settled.abort();
    }
  }
}

/** In a forked program: what it was started with. */
export async function readSpec<Spec>(): Promise<Spec> {
  const [spec] = await once(process, "message");
  return spec as Spec;
}

/** In a forked program: from now on it takes orders. */
export function takeOrders(orders: Orders): void {
  process.on("message", async (order: string) => process.send!((await orders[order]!()) ?? null));
  process.on("disconnect", () => process.exit());
  process.send!(null);
}
