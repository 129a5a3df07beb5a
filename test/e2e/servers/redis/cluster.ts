import { freePort } from "../ports.ts";
import { startRedis } from "../redis.ts";
import { run } from "../run.ts";
import { waitFor } from "../wait.ts";

/** Three masters that share the slots, and their replicas. */
export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

const MASTERS = 3;
/** Milliseconds after which a node counts as gone: a busy machine holds one up for seconds. */
const SILENCE = 8000;

/** Starts a Cluster on loopback. @param password that of `default` */
export async function startRedisCluster({ replicasOfEach = 0, password = "" } = {}) {
  const servers = await Promise.all(
    Array.from({ length: MASTERS * (1 + replicasOfEach) }, async () =>
      startRedis(
        {
          "cluster-enabled": "yes",
          "cluster-node-timeout": SILENCE,
          "cluster-port": await freePort(),
          "repl-diskless-sync-delay": 0,
        },
        password || undefined,
      ),
    ),
  );
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
  const env = password === "" ? {} : { REDISCLI_AUTH: password };
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
    /** The master that has the slot of a key. */
    async ownerOf(key: string) {
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
