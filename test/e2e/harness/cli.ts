import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { imageConfig, readDockerfile } from "../container/dockerfile.ts";

/** The root of the checkout. */
export const checkout = fileURLToPath(new URL("../../..", import.meta.url));
/** The command line under test; `process.execPath` runs it unchanged. */
export const cliPath = join(checkout, "bin/clusterset-doh.js");

/**
 * Node's own flags, as the container image has them: tests and benchmarks run gateways as they are deployed.
 */
export const nodeFlags: readonly string[] = imageConfig(
  readDockerfile(join(checkout, "infra/container/Dockerfile")),
).entrypoint.slice(1, -1);

/** What a command that ran to its end has left. */
export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `clusterset-doh` with these arguments to its end; a non-zero exit is not an error. */
export function runCli(args: string[], options: { cwd?: string } = {}): Promise<Finished> {
  return runProgram(process.execPath, [cliPath, ...args], options);
}

/** Runs a program to its end; a non-zero exit is not an error. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { cwd?: string } = {},
): Promise<Finished> {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], {
    cwd: options.cwd ?? checkout,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const finished = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    finished.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    finished.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...finished }));
  });
}

/** Runs `clusterset-doh check` to its end. */
export function runCheck(args: string[]): Promise<Finished> {
  return runCli(["check", ...args]);
}
