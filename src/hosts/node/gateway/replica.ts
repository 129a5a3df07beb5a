import type { Store } from "../../../config/store.ts";
import { UsageError } from "../../../config/values.ts";
import { StoreError } from "../../../database/store-error.ts";
import type { OrderParts, SharedOrder } from "../../../gateway/change-order.ts";
import { type Endpoint, type RedisAddress, readUrl } from "../../../replica/redis-address.ts";
import type { SharedLog } from "../../../replica/shared-log.ts";
import { readToken } from "../files.ts";
import { readCertificates, readIdentity } from "../tls.ts";

/**
 * What opens the order of changes that gateways share in Valkey or Redis. It throws a {UsageError} if the
 * engine cannot be used.
 */
export function openReplica(store: Store): (parts: OrderParts) => Promise<SharedOrder> {
  return async (parts) => {
    const address = await readEngineAddress(store);
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

/**
 * Reads the files that the setting `store` names.
 * @throws {UsageError} naming the file that cannot be read, or has no password, no certificate or no key
 */
export async function readEngineAddress(store: Store): Promise<RedisAddress> {
  const { url, sentinel, cluster, username, passwordFile, caFile, certificateFile, keyFile } = store;
  const [password, sentinelPassword, ca, identity] = await Promise.all([
    passwordFile === undefined ? undefined : readToken(passwordFile, "the password file"),
    sentinel?.passwordFile === undefined ? undefined : readToken(sentinel.passwordFile, "the password file"),
    caFile === undefined ? undefined : readCertificates(caFile),
    certificateFile === undefined ? undefined : readIdentity(certificateFile, keyFile!),
  ]);
  return {
    url,
    username,
    password,
    ca,
    identity,
    sentinel: sentinel && {
      name: sentinel.name,
      database: sentinel.database,
      tls: sentinel.tls,
      nodes: sentinel.nodes.map((node) => readNode(node, SENTINEL_PORT)),
      login: { username: sentinel.username, password: sentinelPassword },
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
