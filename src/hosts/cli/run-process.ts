import type { StartServer } from "../node/server/node-server.ts";
import { run } from "./program.ts";

/**
 * Runs the command line as this process, and sets its exit code.
 * @param args the arguments after the program's name
 * @param startServer starts the server of `serve`; default: Node's server
 */
export async function runProcess(args: readonly string[], startServer?: StartServer): Promise<void> {
  // `check … | head` closes stdout early, which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
  const output = {
    out: (line: string) => process.stdout.write(`${line}\n`),
    err: (line: string) => process.stderr.write(`${line}\n`),
  };
  process.exitCode = await run([process.execPath, "clusterset-doh", ...args], output, startServer);
}
