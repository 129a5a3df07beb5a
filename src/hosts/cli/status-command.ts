import { Command } from "commander";
import type { Output } from "../commands/process/output.ts";
import { connectionOptions } from "./flags.ts";

/** `clusterset-doh status`; passes its exit code to `setExitCode`. */
export function statusCommand(output: Output, setExitCode: (code: number) => void): Command {
  const command = new Command("status").description(
    "prints a gateway's clusters, services, conflicts and findings, and how fresh they are",
  );
  for (const option of connectionOptions()) command.addOption(option);
  return command
    .option("--json", "print JSON, as /status returns it")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh status --server https://localhost:8443 --ca-file .clusterset-doh/demo/tls/self-signed.crt

Exit codes: 0 the gateway is ready, 1 it is not, or does not answer, 2 wrong options.`,
    )
    .action(async (flags) => {
      const { status } = await import("../commands/status.ts");
      setExitCode(await status(flags, output));
    });
}
