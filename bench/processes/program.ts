import { run } from "../../test/e2e/servers/run.ts";

/**
 * Runs a program of ours in a fresh Node process, with `gc()`, and reads the JSON that it prints.
 * @param flags of Node
 */
export async function runProgram<Result>(
  path: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<Result> {
  const output = await run(process.execPath, ["--expose-gc", ...flags, path, ...args]);
  return JSON.parse(output) as Result;
}
