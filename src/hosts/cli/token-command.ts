import { Command } from "commander";
import type { Output } from "../commands/output.ts";

/** `clusterset-doh token`. */
export function tokenCommand(output: Output): Command {
  return new Command("token")
    .description("makes a token for a cluster: prints it, and its SHA-256 for the config file on stderr")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token > cluster-a.token     # stderr: tokenSha256: …`,
    )
    .action(async () => {
      const { makeToken } = await import("../commands/token.ts");
      const { token, sha256 } = makeToken();
      output.out(token);
      output.err(`tokenSha256: ${sha256}`);
    });
}
