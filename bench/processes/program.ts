import { run } from "../../test/e2e/servers/run.ts";

/** Runs a program of ours in a fresh Node process, with `gc()`, and reads the JSON that it prints. */
export async function runProgram<Result>(path: string, args: readonly string[]): Promise<Result> {
  const output = await run(process.execPath, ["--expose-gc", path, ...args]);
  return JSON.parse(output) as Result;
}
