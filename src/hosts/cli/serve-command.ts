import { Command } from "commander";
import type { Output } from "../commands/process.ts";
import { endOnUncaught, stopSignal } from "../commands/process.ts";
import { createLogger } from "../node/process.ts";
import type { StartServer } from "../node/server/node-server.ts";
import { logLevel, repeat } from "./flags.ts";

/** A start that takes longer is logged, in milliseconds. */
const SLOW_START = 15_000;

/** `clusterset-doh serve`. @param startServer the runtime's own server; default: Node's */
export function serveCommand(output: Output, startServer?: StartServer): Command {
  return new Command("serve")
    .description("starts the gateway: takes pushes of clusters and answers DNS over HTTPS")
    .option("--config <file>", "config file, YAML or JSON; docs/reference/configuration.md has its keys")
    .option("--listen <host:port>", "address to listen on (default: localhost:8443)")
    .option(
      "--state-dir <dir>",
      "where snapshots and the self-signed certificate are kept (default: .clusterset-doh)",
    )
    .option(
      "--store <url>",
      "Valkey or Redis, where snapshots are kept instead: redis://HOST[:PORT], or rediss:// for TLS",
    )
    .option("--public-url <url>", "address at which clients reach the gateway: https://HOST[:PORT]")
    .option("--zone <zone>", "a zone to serve besides clusterset.local; repeatable", repeat)
    .option("--no-tls", "HTTP/1.1 in clear, behind a proxy that ends TLS")
    .option("--tls-cert <file>", "certificate chain in PEM; read again when it changes")
    .option("--tls-key <file>", "its private key in PEM")
    .option(
      "--client-ca-file <file>",
      "certificates in PEM of the authorities whose clients may register federations",
    )
    .option("--federation <name>", "a federation to serve in the zone federation; repeatable", repeat)
    .option(
      "--cluster-token <cluster=file>",
      "a cluster that may push, with the file that holds its token; repeatable",
      repeat,
    )
    .option(
      "--public",
      "answer every client; without it the gateway needs access in the config file to listen on other addresses than loopback",
    )
    .option(
      "--dns <host:port>",
      "also answer plain DNS over UDP and TCP here, for resolvers that forward; repeatable",
      repeat,
    )
    .option(
      "--dot <host:port>",
      "also answer DNS over TLS here, with the same certificate; repeatable",
      repeat,
    )
    .option(
      "--threads <n>",
      "threads that answer clients, beside the one that takes pushes; 0: that one answers, too; auto: one for each CPU that the process may use, and at most one for 512 MiB of its memory (default: 1)",
    )
    .option("--check-config", "read the config file and the files that it names, then exit")
    .addOption(logLevel())
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token --out cluster-a.token
  clusterset-doh serve --listen :8443 --public --zone clusterset.example.org --cluster-token cluster-a=cluster-a.token \\
    --dns 127.0.0.1:5353 --dot :853

Stops cleanly on SIGTERM. Exit codes: 0 stopped, or --check-config found nothing wrong; 1 failed, 2 wrong options or config.`,
    )
    .action(async (flags) => {
      const { readServeConfig } = await import("../node/config.ts");
      const config = readServeConfig(flags);
      if (flags.checkConfig === true) {
        const { checkConfigFiles } = await import("../commands/check.ts");
        output.out(await checkConfigFiles(config));
        return;
      }
      const { spawnThread } = await import("../node/threads/spawn-thread.ts");
      // It loads its modules while this thread loads its own.
      const spawned = startServer === undefined && config.threads !== 0 ? spawnThread(0) : undefined;
      const { startGateway } = await import("../node/gateway-host.ts");
      const logger = createLogger("serve", config.logLevel);
      const stop = stopSignal(logger);
      const slow = setTimeout(() => {
        const event = "slow-start";
        logger.warn(
          { event },
          `the start waits: does the file system of ${config.stateDirectory} (--state-dir) answer?`,
        );
      }, SLOW_START);
      const running = await startGateway(config, logger, startServer, spawned).finally(() =>
        clearTimeout(slow),
      );
      const disarm = endOnUncaught(logger, () => running.stop());
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
      logger.info({ event: "stopping" }, "stopping: running requests are finished first");
      await running.stop();
      disarm();
      logger.info({ event: "stopped" }, "stopped");
    });
}
