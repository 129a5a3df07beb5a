import { freePort } from "../ports.ts";
import { type Redis, startRedis } from "../redis.ts";
import { run } from "../run.ts";
import { waitFor } from "../wait.ts";

/** Masters that share the slots, and their replicas. */
export interface RedisCluster {
  /** Where they listen: `127.0.0.1:<port>`. */
  readonly nodes: readonly string[];
  readonly servers: readonly Redis[];
  /** The master that has the slot of a key. */
  ownerOf(key: string): Promise<Redis>;
  stop(): Promise<void>;
}

/** What a Cluster has; a replica takes the place of a master that does not reply any more. */
export interface RedisClusterOptions {
  readonly replicasOfEach?: number;
  /** The password of `default`. */
  readonly password?: string;
}

const MASTERS = 3;
/** Milliseconds after which a node counts as gone: a busy machine holds one up for seconds. */
const SILENCE = 8000;

/** Starts a Cluster of three masters on loopback. */
export async function startRedisCluster({
  replicasOfEach = 0,
  password,
}: RedisClusterOptions = {}): Promise<RedisCluster> {
  const servers = await Promise.all(
    Array.from({ length: MASTERS * (1 + replicasOfEach) }, async () =>
      startRedis(
        {
          "cluster-enabled": "yes",
          "cluster-node-timeout": SILENCE,
          "cluster-port": await freePort(),
          "repl-diskless-sync-delay": 0,
        },
        password,
      ),
    ),
  );
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
  const env = password === undefined ? {} : { REDISCLI_AUTH: password };
  const create = ["--cluster", "create", ...nodes, "--cluster-replicas", String(replicasOfEach)];
  await run("redis-cli", [...create, "--cluster-yes"], { env });
  for (const server of servers)
    await waitFor("a node that knows the Cluster", async () => {
      const info = String(await server.run("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${servers.length}`);
    });
  return {
    nodes,
    servers,
    async ownerOf(key) {
      const running = servers.find((server) => server.process.isRunning)!;
      const slot = Number(await running.run("CLUSTER", "KEYSLOT", key));
      const ranges = (await running.run("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
      const [, , [, port]] = ranges.find(([first, last]) => first <= slot && slot <= last)!;
      return servers.find((server) => server.port === port)!;
    },
    async stop() {
      // A replica whose append-only file is not whole yet does not end by SIGTERM.
      await Promise.all(servers.map(({ process }) => process.kill()));
    },
  };
}
