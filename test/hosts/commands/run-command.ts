import { run } from "../../../src/hosts/cli/program.ts";

/** Runs a command in this process. */
export async function runCommand(...args: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const output = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
  const status = await run(["node", "clusterset-doh", ...args], output);
  return { status, stdout: out.join("\n"), stderr: err.join("\n") };
}
