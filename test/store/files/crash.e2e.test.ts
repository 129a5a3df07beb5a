import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadAll, metaOf, snapshotOf } from "../changes.ts";
import { openCollecting, stateDirectory } from "./state-directory.ts";

const PROGRAM = join(import.meta.dirname, "pushing-process.ts");

/** Runs a pushing process and kills it after `acknowledgements` and a bit; the last generation it printed. */
async function pushAndKill(directory: string, acknowledgements: number, delay: number): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, directory, "push"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let output = "";
  child.stdout.setEncoding("utf8");
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.split("\n").length <= acknowledgements + 1) continue;
    acknowledgements = Number.POSITIVE_INFINITY;
    setTimeout(() => child.kill("SIGKILL"), delay);
  }
  await exited;
  return Number(output.split("\n").at(-2));
}

test("after kill -9 everything acknowledged is there, and nothing torn loads", async () => {
  const directory = stateDirectory();
  let last = 0;
  for (let round = 0; round < 8; round++) {
    const acknowledged = await pushAndKill(directory, 1 + Math.floor(Math.random() * 30), Math.random() * 5);
    expect(acknowledged).toBeGreaterThan(last);
    const { store } = await openCollecting(directory);
    const { west } = await loadAll(store);
    const generation = west!.meta.generation;
    // The change after the last acknowledgement may have been kept, whole.
    expect([acknowledged, acknowledged + 1]).toContain(generation);
    expect(west).toEqual({ meta: metaOf(generation), snapshot: snapshotOf("west", generation) });
    await store.close();
    last = generation;
  }
});
