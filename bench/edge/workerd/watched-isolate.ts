import { setTimeout as sleep } from "node:timers/promises";
import { forgetPeak, residentMemory } from "../../processes/resident-memory.ts";
import { Inspector } from "./inspector.ts";

/** Between two looks at an isolate's memory, in milliseconds. */
const PAUSE = 5;

/** Memory in bytes. */
export interface PeakMemory {
  /** V8's heap, with garbage, and array buffers of one isolate: the most that was seen. */
  readonly isolate: number;
  /** The most that the process took of the machine's memory. */
  readonly resident: number;
}

/** One isolate of a workerd process, whose memory is looked at. */
export class WatchedIsolate {
  readonly #inspector: Inspector;
  readonly #pid: number;
  readonly #url: string;

  private constructor(inspector: Inspector, pid: number, url: string) {
    this.#inspector = inspector;
    this.#pid = pid;
    this.#url = url;
  }

  /**
   * @param service the name of the Worker in the configuration
   * @param url where its isolate is asked
   */
  static async connect(
    inspectorPort: number,
    service: string,
    pid: number,
    url: string,
  ): Promise<WatchedIsolate> {
    // Isolates start with their first request.
    await collectGarbage(url);
    return new WatchedIsolate(await Inspector.connect(inspectorPort, service), pid, url);
  }

  /** What is alive, after collecting garbage; and what the process takes of the machine's memory. */
  async settled(): Promise<PeakMemory> {
    await collectGarbage(this.#url);
    return { isolate: await this.#now(), resident: residentMemory(this.#pid).now };
  }

  /** The most memory until `work` is done. */
  async during(work: Promise<unknown>): Promise<PeakMemory> {
    forgetPeak(this.#pid);
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    // Reported below.
    done.catch(() => {});
    let most = 0;
    while (!isDone) {
      most = Math.max(most, await this.#now());
      await sleep(PAUSE);
    }
    await done;
    most = Math.max(most, await this.#now());
    return { isolate: most, resident: residentMemory(this.#pid).peak };
  }

  close(): void {
    this.#inspector.close();
  }

  async #now(): Promise<number> {
    const { heap, buffers } = await this.#inspector.memory();
    return heap + buffers;
  }
}

/**
 * workerd never answers an inspector's client that has garbage collected, so the script does it
 * (`workers/collect-garbage.ts`).
 */
async function collectGarbage(url: string): Promise<void> {
  const { status } = await fetch(`${url}/collect-garbage`);
  if (status !== 204) throw new Error(`garbage was not collected: ${status}`);
}
