import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import * as z from "zod";
import { readConfigOf } from "../node/config.ts";

const ClientConfig = z.strictObject({
  server: z.url({ protocol: /^https?$/, error: "must be an address such as https://doh.example:8443" }),
  serverName: z.string().optional(),
  caFile: z.string().optional(),
  tokenFile: z.string().optional(),
  clientCertFile: z.string().optional(),
  clientKeyFile: z.string().optional(),
});

/**
 * Sets the options of a command that the client config has, and neither the command line nor the environment.
 * They are for the gateway that the file names: another one gets none of them, above all no token.
 * @throws {UsageError} for a file that cannot be read or is wrong, where no other option names the gateway
 */
export function applyClientConfig(command: Command): void {
  const { CLUSTERSET_DOH_CONFIG: named, XDG_CONFIG_HOME: home } = process.env;
  const file = named || join(home || join(homedir(), ".config"), "clusterset-doh/config.yaml");
  if (!named && !existsSync(file)) return;
  const { server: given } = command.opts<{ server?: string }>();
  let config: z.infer<typeof ClientConfig>;
  try {
    config = readConfigOf(file, ClientConfig);
  } catch (error) {
    // It says nothing of another gateway.
    if (given !== undefined) return;
    throw error;
  }
  const server = given ?? config.server;
  if (URL.parse(server)?.href !== URL.parse(config.server)?.href) return;
  for (const [option, value] of Object.entries(config))
    if (command.getOptionValueSource(option) === undefined)
      command.setOptionValueWithSource(option, value, "config");
}
