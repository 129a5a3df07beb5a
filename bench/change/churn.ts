import { join } from "node:path";
import type { GatewayProcess } from "../../test/e2e/harness/processes.ts";
import { ForkedProgram } from "../processes/forked-program.ts";
import { type WideWorld, wideClusterIds } from "../worlds/wide-world.ts";

/** What the clusters of a world do. */
export interface ChurnSpec {
  readonly url: string;
  readonly ca: string;
  /** By cluster id. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly world: WideWorld;
  /** Endpoints that get another address, of all clusters together. */
  readonly perSecond: number;
}

/** What came of changes. */
export interface ChurnReport {
  /** From each change to the acknowledgement of its push, when answers have it. */
  readonly milliseconds: number[];
  pushes: number;
}

/** All clusters of a world, which push from a process of their own. */
export class Churn {
  readonly #program: ForkedProgram;

  private constructor(program: ForkedProgram) {
    this.#program = program;
  }

  /**
   * Every cluster pushes its full snapshot; resolves when all are acknowledged, and the changes have begun.
   */
  static async start(
    { url, ca, tokenFor }: GatewayProcess,
    world: WideWorld,
    perSecond: number,
  ): Promise<Churn> {
    const tokens = Object.fromEntries(wideClusterIds(world).map((id) => [id, tokenFor(id)]));
    const spec: ChurnSpec = { url, ca, tokens, world, perSecond };
    return new Churn(await ForkedProgram.start(join(import.meta.dirname, "churn-program.ts"), spec));
  }

  /** What came of the changes that were acknowledged since the last call. */
  async report(): Promise<ChurnReport> {
    return (await this.#program.tell("report")) as ChurnReport;
  }

  /** Ends the changes; resolves when the last one is acknowledged. */
  async end(): Promise<void> {
    await this.#program.tell("end");
  }

  stop(): void {
    this.#program.stop();
  }
}
