import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { type Redis, runRedis, startRedis } from "../redis.ts";
import { temporaryFolder } from "../tools/folders.ts";
import { waitFor } from "../wait.ts";

/** Further settings of a group; without them nobody needs a password, and nothing has TLS. */
export interface SentinelOptions {
  readonly replicas?: number;
  readonly password?: string;
  readonly sentinelPassword?: string;
  /** Files; replication, Sentinels and clients then use TLS. Servers listen in clear, too, for `run`. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** A master, its replicas, and three Sentinels that watch them. */
export type SentinelGroup = Awaited<ReturnType<typeof startSentinelGroup>>;

const NAME = "gateways";
const SENTINELS = 3;
/** Milliseconds after which a server counts as gone: a busy machine holds one up for seconds. */
const SILENCE = 8000;

/** Starts redis-servers and Sentinels, which replace a master that does not reply any more. */
export async function startSentinelGroup(options: SentinelOptions = {}) {
  const { replicas = 1, password, sentinelPassword, tls } = options;
  const ports = new Map<Redis, number>();
  const start = async () => {
    const tlsPort = await freePort();
    // A replica asks for the data at once, not after 5 seconds.
    const directives = { "repl-diskless-sync-delay": 0, ...Object.fromEntries(tlsDirectives(tls, tlsPort)) };
    const server = await startRedis(directives, password);
    ports.set(server, tls === undefined ? server.port : tlsPort);
    return server;
  };
  const servers = [await start()];
  const first = String(ports.get(servers[0]!));
  for (let count = 0; count < replicas; count++) {
    const replica = await start();
    await replica.run("REPLICAOF", "127.0.0.1", first);
    await replica.run("CONFIG", "REWRITE");
    servers.push(replica);
  }
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startSentinel(first, options)));
  const ask = async (...command: string[]) => {
    const running = sentinels.find(({ process }) => process.isRunning)!;
    return runRedis(running.url, sentinelPassword, command);
  };
  const master = async () => {
    const [, port] = (await ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) as [string, string];
    return servers.find((server) => ports.get(server) === Number(port))!;
  };
  const masterOtherThan = (server: Redis) => {
    const isThere = async () => {
      const now = await master();
      return now !== server && String(await now.run("ROLE")).startsWith("master") && now;
    };
    return waitFor("another master", isThere);
  };
  const counts = (info: unknown) => /slaves=(\d+),sentinels=(\d+)/.exec(String(info))?.slice(1).map(Number);
  for (const { url } of sentinels)
    await waitFor("a Sentinel that knows all others", async () => {
      const info = await runRedis(url, sentinelPassword, ["INFO", "sentinel"]);
      const [known, watching] = counts(info) ?? [];
      return known === replicas && watching === SENTINELS;
    });
  return {
    name: NAME,
    servers,
    master,
    masterOtherThan,
    nodes: sentinels.map(({ url }) => new URL(url).host),
    sentinels: sentinels.map(({ process }) => process),
    /** `SENTINEL FAILOVER`. @returns the new master, once it takes writes */
    async failover() {
      const before = await master();
      // Until replicas have reported to the Sentinels, and for a while after a failover, the Sentinels do not
      // begin one.
      await waitFor("the Sentinels to begin a failover", async () => {
        return (await ask("SENTINEL", "FAILOVER", NAME)) === "OK";
      });
      return masterOtherThan(before);
    },
    /** Waits until all servers but one replicate: before, a replaced master may take writes that are lost. */
    async joined() {
      await waitFor("all servers but one to replicate", async () => {
        const infos = await Promise.all(servers.map((server) => server.run("INFO", "replication")));
        return infos.filter((info) => String(info).includes("master_link_status:up")).length === replicas;
      });
    },
    /** Waits until every replica has what the master has. */
    async replicated() {
      const offset = (info: unknown) => /master_repl_offset:(\d+)/.exec(String(info))?.[1];
      await waitFor("the replicas to have everything", async () => {
        const infos = await Promise.all(servers.map((server) => server.run("INFO", "replication")));
        const linked = infos.filter((info) => String(info).includes("master_link_status:up"));
        return linked.length === replicas && new Set(infos.map(offset)).size === 1;
      });
    },
    async stop() {
      // A replica whose append-only file is not whole yet does not end by SIGTERM.
      await Promise.all([...sentinels, ...servers].map(({ process }) => process.kill()));
    },
  };
}

async function startSentinel(masterPort: string, { password, sentinelPassword, tls }: SentinelOptions) {
  const folder = temporaryFolder("sentinel");
  const port = await freePort();
  const url = `${tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`;
  const configFile = join(folder, "sentinel.conf");
  const directives = [
    ...(tls === undefined ? [["port", String(port)]] : [["port", "0"], ...tlsDirectives(tls, port)]),
    ["bind", "127.0.0.1"],
    ["dir", folder],
    ...(sentinelPassword === undefined ? [] : [["requirepass", sentinelPassword]]),
    ["sentinel monitor", NAME, "127.0.0.1", masterPort, "2"],
    ...(password === undefined ? [] : [["sentinel auth-pass", NAME, password]]),
    ["sentinel down-after-milliseconds", NAME, String(SILENCE)],
    ["sentinel failover-timeout", NAME, String(SILENCE)],
  ];
  writeFileSync(configFile, `${directives.map((words) => words.join(" ")).join("\n")}\n`);
  const process = await ServerProcess.start({
    name: "sentinel",
    command: "redis-sentinel",
    args: [configFile],
    folder,
    ready: async () => (await runRedis(url, sentinelPassword, ["PING"])) === "PONG",
  });
  return { process, url };
}

function tlsDirectives(tls: SentinelOptions["tls"], port: number): [name: string, value: string][] {
  if (tls === undefined) return [];
  return [
    ["tls-port", String(port)],
    ["tls-replication", "yes"],
    ["tls-auth-clients", "no"],
    ["tls-cert-file", tls.cert],
    ["tls-key-file", tls.key],
    ["tls-ca-cert-file", tls.ca],
  ];
}
