import { Command } from "commander";
import type { Output } from "../commands/process/output.ts";
import { stopSignal } from "../commands/process/stop-signal.ts";
import { createLogger } from "../node/logger.ts";
import { logLevel } from "./flags.ts";

/** `clusterset-doh demo`, which `npm start` runs. */
export function demoCommand(output: Output): Command {
  return new Command("demo")
    .description("starts a gateway with two example clusters on this machine")
    .option("--listen <host:port>", "address to listen on", "localhost:8443")
    .option("--state-dir <dir>", "where its state is kept", ".clusterset-doh/demo")
    .addOption(logLevel().default("warn"))
    .addHelpText("after", "\nExample:\n  clusterset-doh demo --listen localhost:9443")
    .action(async (flags) => {
      const { demo } = await import("../commands/demo.ts");
      const logger = createLogger("demo", flags.logLevel);
      await demo(flags, logger, stopSignal(logger), output.out);
    });
}
