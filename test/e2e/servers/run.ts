import { spawn } from "node:child_process";

export type Report = (line: string) => void;

/** Runs a program to its end and returns its standard output; a non-zero exit is an error with the reason. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ending = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code === 0 ? "" : `exit ${code ?? signal}`));
  });
  if (ending !== "") {
    const lastLines = (stderr || stdout).trim().split("\n").slice(-15).join("\n");
    throw new Error(`${command} ${args.join(" ")}: ${ending}\n${lastLines}`);
  }
  return stdout;
}
