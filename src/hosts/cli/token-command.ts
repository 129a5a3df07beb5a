import { Command } from "commander";
import type { Output } from "../commands/process/output.ts";

/** `clusterset-doh token`. */
export function tokenCommand(output: Output): Command {
  return new Command("token")
    .description("makes a token: prints it, and its SHA-256 for the config file on stderr")
    .option("--host-name", "a token that fits into a host name, for access.rules[].hostTokens")
    .option("--out <file>", "write the token into a new file that only its owner may read")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token --out cluster-a.token     # stderr: tokenSha256: …

An existing file is never replaced. Exit codes: 0 made, 1 failed, 2 wrong options, or the file cannot be made.`,
    )
    .action(async ({ hostName = false, out }: { readonly hostName?: boolean; readonly out?: string }) => {
      const { makeHostNameToken, makeToken, writeToken } = await import("../commands/token.ts");
      const { token, sha256 } = hostName ? makeHostNameToken() : makeToken();
      if (out === undefined) output.out(token);
      else await writeToken(out, token);
      output.err(`tokenSha256: ${sha256}`);
    });
}
