import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@redis/client";
import { DEADLINE } from "../../deadline.ts";
import { freePort } from "./ports.ts";
import { ServerProcess } from "./process.ts";
import { temporaryFolder } from "./tools/folders.ts";
import { ensureTool } from "./tools/tools.ts";

/** A redis-server in its own process, and the folder with its append-only file. */
export type Redis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a redis-server that syncs every write. @param directives lines of redis.conf */
export async function startRedis(directives: Record<string, string | number> = {}, password?: string) {
  await ensureTool("redis-server");
  const folder = temporaryFolder("redis");
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const run = (...command: string[]) => runRedis(url, password, command);
  // Empty, for CONFIG REWRITE: what Sentinel changes outlives a restart.
  const configFile = join(folder, "redis.conf");
  writeFileSync(configFile, "");
  const own = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync: "always" };
  const secret = password === undefined ? {} : { requirepass: password, masterauth: password };
  const all = Object.entries<string | number>({ ...own, ...secret, ...directives });
  const process = await ServerProcess.start({
    name: "redis",
    command: "redis-server",
    args: [configFile, ...all.flatMap(([name, value]) => [`--${name}`, String(value)])],
    folder,
    ready: async () => (await run("PING")) === "PONG",
  });
  return { url, port, process, folder, run };
}

/** Runs one command over a connection of its own. TLS is not verified. */
export async function runRedis(
  url: string,
  password: string | undefined,
  command: readonly string[],
): Promise<unknown> {
  const common = { reconnectStrategy: false as const, connectTimeout: DEADLINE };
  const socket = url.startsWith("rediss:")
    ? { ...common, tls: true as const, rejectUnauthorized: false }
    : common;
  const client = createClient({ url, RESP: 2, socket, ...(password !== undefined && { password }) });
  client.on("error", () => {});
  await client.connect();
  try {
    return await client.sendCommand(command);
  } finally {
    client.destroy();
  }
}
