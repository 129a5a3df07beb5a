import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a run of vitest differs from one in this environment. */
export interface VitestOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The start of a command line that runs it, such as `unshare`. */
  readonly under?: readonly string[];
  /** After this the run is ended, and has failed. */
  readonly boundMs?: number;
}

/**
 * Runs vitest with these arguments; resolves with its exit code, or 1 where a signal or the bound ended it.
 */
export async function runVitest(args: readonly string[], options: VitestOptions = {}): Promise<number> {
  const vitest = fileURLToPath(new URL("vitest.mjs", import.meta.resolve("vitest/package.json")));
  const [program, ...line] = [...(options.under ?? []), process.execPath, vitest, "run", ...args];
  const child = spawn(program!, line, {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    env: { ...process.env, ...options.env },
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const { boundMs } = options;
  const bound = boundMs === undefined ? undefined : setTimeout(() => child.kill("SIGTERM"), boundMs);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(bound);
      resolve(code ?? 1);
    });
  });
}
