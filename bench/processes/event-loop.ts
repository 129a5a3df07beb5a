import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { freePort } from "../../test/e2e/servers/ports.ts";

/** Times in milliseconds. */
export interface LongestTurn {
  /** With the time for which the machine ran something else. */
  readonly wall: number;
  /** CPU time of the thread. */
  readonly cpu: number;
}

/** The event loop of a process that is started with `env`. */
export interface WatchedLoop {
  readonly env: Record<string, string>;
  /** The longest turn since this was last called. */
  longestTurn(): Promise<LongestTurn>;
}

export async function watchLoop(): Promise<WatchedLoop> {
  const port = await freePort();
  const preload = pathToFileURL(join(import.meta.dirname, "event-loop-preload.ts")).href;
  return {
    env: { NODE_OPTIONS: `--import=${preload}`, EVENT_LOOP_PORT: String(port) },
    longestTurn: async () => {
      const answer = await fetch(`http://127.0.0.1:${port}`);
      return (await answer.json()) as LongestTurn;
    },
  };
}
