import { basename } from "node:path";
import { Command, CommanderError } from "commander";
import { VERSION } from "../../assembly/stages.ts";
import { UsageError } from "../../config/values.ts";
import type { Output } from "../commands/process.ts";
import type { StartServer } from "../node/server/node-server.ts";
import {
  checkCommand,
  completionCommand,
  demoCommand,
  explainCommand,
  exportCommand,
  queryCommand,
  statusCommand,
  tokenCommand,
  waitCommand,
} from "./commands.ts";
import { serveCommand } from "./serve-command.ts";
import { syncCommand } from "./sync-command.ts";

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** The file of a plugin by which kubectl finds `kubectl clusterset`. */
const PLUGIN = "kubectl-clusterset";

/**
 * Runs the command line; resolves with the exit code after the command has ended. Each command loads its
 * modules when it is called.
 * @param argv as of a process: the second is the program's file, by whose name it is a plugin of kubectl
 * @param startServer starts the server of `serve`; default: Node's server
 */
export async function run(
  argv: readonly string[],
  output: Output,
  startServer?: StartServer,
): Promise<number> {
  let exitCode = 0;
  const onExit = (code: number) => {
    exitCode = code;
  };
  const isPlugin = basename(argv[1]!) === PLUGIN;
  const name = isPlugin ? "kubectl clusterset" : "clusterset-doh";
  const program = new Command(name)
    .description(
      "DNS over HTTPS for Kubernetes clustersets: clusterset.local names, answered outside the cluster",
    )
    .version(VERSION)
    .addCommand(serveCommand(output, startServer))
    .addCommand(syncCommand())
    .addCommand(checkCommand(output, onExit))
    .addCommand(exportCommand(output, onExit))
    .addCommand(queryCommand(output, onExit))
    .addCommand(explainCommand(output, onExit))
    .addCommand(waitCommand(output, onExit))
    .addCommand(statusCommand(output, onExit))
    .addCommand(tokenCommand(output))
    .addCommand(demoCommand(output))
    .hook("preAction", async (_, command) => {
      const { manifests, stateDir } = command.opts();
      const isAtGateway = command.options.some((option) => option.attributeName() === "server");
      if (!isAtGateway || manifests !== undefined || stateDir !== undefined) return;
      const { applyClientConfig } = await import("./client-config.ts");
      applyClientConfig(command);
    });
  // kubectl completes its plugins in another way.
  if (!isPlugin) program.addCommand(completionCommand(output));
  for (const command of [program, ...program.commands])
    command
      .exitOverride()
      .showHelpAfterError("(--help says more)")
      .configureOutput({
        // Examples name the program.
        writeOut: (text) => output.out(text.replaceAll("clusterset-doh ", `${name} `).trimEnd()),
        writeErr: (text) => output.err(text.trimEnd()),
      });
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    // Commander has printed its message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    output.err(`${name}: ${describe(error)}`);
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILURE;
  }
}

/** Errors with a code have a complete message; other errors are bugs and need their stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? error.message : (error.stack ?? error.message);
}

/**
 * Runs the command line as this process, and sets its exit code.
 * @param args the arguments after the program's name
 * @param startServer starts the server of `serve`; default: Node's server
 */
export async function runProcess(args: readonly string[], startServer?: StartServer): Promise<void> {
  // `check … | head` closes stdout early, which is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    output.err(`clusterset-doh: the output cannot be written: ${error.message}`);
    process.exit(EXIT_FAILURE);
  });
  const output = {
    out: (line: string) => process.stdout.write(`${line}\n`),
    err: (line: string) => process.stderr.write(`${line}\n`),
  };
  process.exitCode = await run([process.execPath, process.argv[1] ?? "", ...args], output, startServer);
}
