import type { Store } from "../../../config/store.ts";
import { UsageError } from "../../../config/values.ts";
import { StoreError } from "../../../database/store-error.ts";
import type { OrderParts, SharedOrder } from "../../../gateway/change-order.ts";
import { type Endpoint, type RedisAddress, readUrl } from "../../../replica/redis-address.ts";
import type { SharedLog } from "../../../replica/shared-log.ts";
import { readToken, type WatchedFiles, watchFile } from "../files.ts";
import { readCertificates, readIdentity } from "../tls.ts";

/**
 * What opens the order of changes that gateways share in Valkey or Redis. It throws a {UsageError} if the
 * engine cannot be used.
 */
export function openReplica(store: Store, files: WatchedFiles): (parts: OrderParts) => Promise<SharedOrder> {
  return async (parts) => {
    const address = await watchEngineAddress(store, files);
    // The client is loaded by gateways that need it alone.
    const { RedisLog } = await import("../../../replica/redis-log.ts");
    const { Replica } = await import("../../../replica/replica.ts");
    let log: SharedLog | undefined;
    try {
      log = await RedisLog.open(address, store.prefix);
      return await Replica.open(log, parts);
    } catch (error) {
      log?.close();
      if (!(error instanceof StoreError)) throw error;
      throw new UsageError(`the store ${nameOfEngine(store)}: ${error.message}`);
    }
  };
}

/** Where Sentinels listen by default. */
const SENTINEL_PORT = 26379;

const readPassword = (file: string) => readToken(file, "the password file");

/**
 * Watches the files that the setting `store` names: the next connection takes what they have then.
 * @throws {UsageError} naming the file that cannot be read, or has no password, no certificate or no key
 */
export async function watchEngineAddress(store: Store, files: WatchedFiles): Promise<RedisAddress> {
  const { url, sentinel, cluster, username, passwordFile, caFile, certificateFile, keyFile } = store;
  const [password, sentinelPassword, ca, identity] = await Promise.all([
    watchFile(passwordFile, readPassword, files),
    watchFile(sentinel?.passwordFile, readPassword, files),
    watchFile(caFile, readCertificates, files),
    watchFile(certificateFile, (file) => readIdentity(file, keyFile!), files),
  ]);
  return {
    url,
    username,
    get password() {
      return password();
    },
    get ca() {
      return ca();
    },
    get identity() {
      return identity();
    },
    sentinel: sentinel && {
      name: sentinel.name,
      database: sentinel.database,
      tls: sentinel.tls,
      nodes: sentinel.nodes.map((node) => readNode(node, SENTINEL_PORT)),
      login: {
        username: sentinel.username,
        get password() {
          return sentinelPassword();
        },
      },
    },
    cluster: cluster && { nodes: cluster.nodes.map((node) => readNode(node)), tls: cluster.tls },
  };
}

/** What messages call the engine: without the user and the password of a URL. */
function nameOfEngine({ url, sentinel, cluster }: Store): string {
  if (sentinel !== undefined) return `${sentinel.name} of the Sentinels ${sentinel.nodes.join(", ")}`;
  if (cluster !== undefined) return `of the Cluster ${cluster.nodes.join(", ")}`;
  const { protocol, host, pathname } = new URL(url!);
  return `${protocol}//${host}${pathname}`;
}

/** @param node `HOST` or `HOST:PORT` */
function readNode(node: string, defaultPort?: number): Endpoint {
  const { endpoint } = readUrl(`redis://${node}`);
  const hasPort = /:\d+$/.test(node) && !node.endsWith("]");
  return defaultPort === undefined || hasPort ? endpoint : { ...endpoint, port: defaultPort };
}
