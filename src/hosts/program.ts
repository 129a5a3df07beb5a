import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { createLogger } from "./logger.ts";
import { UsageError } from "./usage-error.ts";
import { VERSION } from "./version.ts";

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

const repeat = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
const seconds = (value: string): number => {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("It must be a whole number of seconds.");
};
const logLevel = () =>
  new Option("--log-level <level>", "how much is logged, as JSON lines on stderr").choices([
    "debug",
    "info",
    "warn",
    "error",
  ]);

/** A signal that is aborted by SIGTERM and SIGINT, which ask for a clean stop. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  return controller.signal;
}

/** The command line of `clusterset-doh`. Commands are loaded when they are called. */
export function createProgram(): Command {
  const program = new Command("clusterset-doh")
    .description(
      "DNS over HTTPS for Kubernetes clustersets: clusterset.local names, answered outside the cluster",
    )
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(--help says more)");

  program
    .command("serve")
    .description("the gateway: answers DNS over HTTPS from what clusters push")
    .option("--config <file>", "config file, YAML or JSON; README.md has its keys")
    .option("--listen <host:port>", "address to listen on (default: localhost:8443)")
    .option(
      "--state-dir <dir>",
      "where snapshots and the self-signed certificate are kept (default: .clusterset-doh)",
    )
    .option("--zone <zone>", "a zone to serve beside clusterset.local; repeatable", repeat)
    .option("--no-tls", "HTTP/1.1 in clear, behind a proxy that does TLS")
    .option("--tls-cert <file>", "certificate chain in PEM; read again when it changes")
    .option("--tls-key <file>", "its private key in PEM")
    .option(
      "--cluster-token <cluster=file>",
      "a cluster that may push, with the file that holds its token; repeatable",
      repeat,
    )
    .addOption(logLevel())
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token > cluster-a.token
  clusterset-doh serve --listen :8443 --zone clusterset.example.org --cluster-token cluster-a=cluster-a.token

Stops cleanly on SIGTERM. Exit codes: 0 stopped, 1 failed, 2 wrong flags or config.`,
    )
    .action(async (flags) => {
      const { readServeConfig } = await import("./config.ts");
      const { startGateway } = await import("./gateway-host.ts");
      const config = readServeConfig(flags);
      const logger = createLogger("serve", config.logLevel);
      const stop = stopSignal();
      const running = await startGateway(config, logger);
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
      logger.info({ event: "stopping" }, "stopping: running requests may finish");
      await running.stop();
      logger.info({ event: "stopped" }, "stopped");
    });

  program
    .command("sync")
    .description("the sync worker: pushes what one cluster's API server knows to gateways")
    .requiredOption(
      "--gateway <url>",
      "a gateway's address, such as https://doh.example:8443; repeatable",
      repeat,
    )
    .requiredOption("--token-file <file>", "file with the token that the gateways know this cluster by")
    .option(
      "--kubeconfig <file>",
      "kubeconfig to use (default: in-cluster, else $KUBECONFIG, else ~/.kube/config)",
    )
    .option("--context <name>", "context of the kubeconfig")
    .option("--manifests <dir>", "read manifests from a folder instead of an API server, and watch it")
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the UID of kube-system)")
    .option("--ca-file <file>", "certificates in PEM to trust the gateways by, such as a self-signed one")
    .option(
      "--lease <seconds>",
      "how long gateways answer from what they were told last (default: 60)",
      seconds,
    )
    .option(
      "--stale-after <seconds>",
      "how long leases are renewed while the API server cannot be read (default: 900)",
      seconds,
    )
    .option("--once", "push once, then exit")
    .addOption(logLevel().default("info"))
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh sync --gateway https://doh.example:8443 --token-file cluster-a.token --context cluster-a
  clusterset-doh sync --manifests ./clusters/cluster-a --cluster-id cluster-a --once \\
      --gateway https://localhost:8443 --ca-file .clusterset-doh/tls/self-signed.crt --token-file cluster-a.token

Stops cleanly on SIGTERM; the gateways keep what was pushed until its lease runs out.
Exit codes: 0 stopped or pushed, 1 failed, 2 wrong flags.`,
    )
    .action(async (flags) => {
      const { sync } = await import("./sync.ts");
      await sync(flags, createLogger("sync", flags.logLevel), stopSignal());
    });

  program
    .command("check")
    .description("prints the records that manifests or snapshots would be served as")
    .argument("<inputs...>", "one folder of manifests per cluster, or snapshot files (JSON)")
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the folder's name)")
    .option("--view <cluster>", "print what this cluster sees (default: what askers outside see)")
    .option(
      "--zone <zone>",
      "zone to print (default: clusterset.local); repeatable, the first owns PTR targets",
      repeat,
    )
    .addOption(
      new Option("--format <format>", "zone file, or JSON with conflicts and findings in it")
        .choices(["zone", "json"])
        .default("zone"),
    )
    .option("--strict", "conflicts fail the check too")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh check --strict clusters/cluster-a clusters/cluster-b > clusterset.zone

Records go to stdout; problems, findings and conflicts to stderr.
Exit codes: 0 all that is exported is served, 1 problems or findings (with --strict also conflicts),
2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { check } = await import("./check.ts");
      process.exitCode = await check(inputs, flags, {
        out: (line) => process.stdout.write(`${line}\n`),
        err: (line) => process.stderr.write(`${line}\n`),
      });
    });

  program
    .command("token")
    .description("makes a token for a cluster: prints it, and its SHA-256 for the config file on stderr")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token > cluster-a.token     # stderr: tokenSha256: …`,
    )
    .action(async () => {
      const { makeToken } = await import("./token.ts");
      const { token, sha256 } = makeToken();
      process.stdout.write(`${token}\n`);
      process.stderr.write(`tokenSha256: ${sha256}\n`);
    });

  program
    .command("demo")
    .description("a gateway with two example clusters on this machine")
    .option("--listen <host:port>", "address to listen on", "localhost:8443")
    .option("--state-dir <dir>", "where its state is kept", ".clusterset-doh/demo")
    .addOption(logLevel().default("warn"))
    .addHelpText("after", "\nExample:\n  clusterset-doh demo --listen localhost:9443")
    .action(async (flags) => {
      const { demo } = await import("./demo.ts");
      await demo(flags, createLogger("demo", flags.logLevel), stopSignal(), (line) =>
        process.stdout.write(`${line}\n`),
      );
    });

  for (const command of program.commands) command.exitOverride().showHelpAfterError("(--help says more)");
  return program;
}

/** Runs the command line; sets the exit code. */
export async function run(argv: readonly string[]): Promise<void> {
  // `check … | head` closes stdout early: that is no error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
  try {
    await createProgram().parseAsync([...argv]);
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof UsageError) {
    process.stderr.write(`clusterset-doh: ${error.message}\n`);
    return EXIT_USAGE;
  }
  process.stderr.write(
    `clusterset-doh: ${error instanceof Error ? (error.stack ?? error.message) : error}\n`,
  );
  return EXIT_FAILURE;
}
