import { join } from "node:path";
import { ForkedProgram } from "./forked-program.ts";

/** A steady load on a DoH server. */
export interface LoadSpec {
  readonly url: string;
  /** The PEM text to check the server's certificate against. */
  readonly ca: string;
  readonly perSecond: number;
  /** Asked in turn, as they stand in `?dns=`. Each must have an answer with records. */
  readonly queries: readonly string[];
}

/** What came of the queries that were sent in some time. */
export interface LoadAnswers {
  /** From the request to the end of the answer. */
  readonly milliseconds: number[];
  /** The longest time without an answer on any connection, in milliseconds. */
  longestGap: number;
  /**
   * Queries without an answer, with another status than 200, another response code than NOERROR, or without
   * records.
   */
  failed: number;
}

/** Queries from a process of its own, at a steady rate that does not wait for answers. */
export class QueryLoad {
  readonly #program: ForkedProgram;

  private constructor(program: ForkedProgram) {
    this.#program = program;
  }

  static async start(
    spec: Omit<LoadSpec, "queries"> & { readonly queries: readonly Uint8Array[] },
  ): Promise<QueryLoad> {
    const queries = spec.queries.map((query) => Buffer.from(query).toString("base64url"));
    const path = join(import.meta.dirname, "query-load-program.ts");
    return new QueryLoad(await ForkedProgram.start(path, { ...spec, queries } satisfies LoadSpec));
  }

  /** The answers to the queries that are sent while `work` is done; resolves when all of them have come. */
  async during(work: () => Promise<unknown>): Promise<LoadAnswers> {
    await this.#program.tell("begin");
    await work();
    return (await this.#program.tell("end")) as LoadAnswers;
  }

  stop(): void {
    this.#program.stop();
  }
}
