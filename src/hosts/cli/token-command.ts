import { Command } from "commander";
import type { Output } from "../commands/output.ts";

/** `clusterset-doh token`. */
export function tokenCommand(output: Output): Command {
  return new Command("token")
    .description("makes a token: prints it, and its SHA-256 for the config file on stderr")
    .option("--host-name", "a token that fits into a host name, for access.rules[].hostTokens")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token > cluster-a.token     # stderr: tokenSha256: …`,
    )
    .action(async ({ hostName = false }: { readonly hostName?: boolean }) => {
      const { makeHostNameToken, makeToken } = await import("../commands/token.ts");
      const { token, sha256 } = hostName ? makeHostNameToken() : makeToken();
      output.out(token);
      output.err(`tokenSha256: ${sha256}`);
    });
}
