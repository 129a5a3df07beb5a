import type { Store } from "../../../config/gateway.ts";
import type { RedisAddress } from "../../../replica/redis/connection.ts";
import { type Endpoint, readUrl } from "../../../replica/redis/servers/address.ts";
import { readToken } from "../access/token-file.ts";
import { readCertificates, readIdentity } from "../tls/tls.ts";

/** Where Sentinels listen by default. */
const SENTINEL_PORT = 26379;

/**
 * Reads the files that the setting `store` names.
 * @throws {UsageError} naming the file that cannot be read, or has no password, no certificate or no key
 */
export async function readEngineAddress(store: Store): Promise<RedisAddress> {
  const { url, sentinel, cluster, username, passwordFile, caFile, certificateFile, keyFile } = store;
  const [password, sentinelPassword, ca, identity] = await Promise.all([
    passwordFile === undefined ? undefined : readToken(passwordFile),
    sentinel?.passwordFile === undefined ? undefined : readToken(sentinel.passwordFile),
    caFile === undefined ? undefined : readCertificates(caFile),
    certificateFile === undefined ? undefined : readIdentity(certificateFile, keyFile!),
  ]);
  return {
    ...{ url, username, password, ca, identity },
    sentinel: sentinel && {
      ...{ name: sentinel.name, database: sentinel.database, tls: sentinel.tls },
      nodes: sentinel.nodes.map((node) => readNode(node, SENTINEL_PORT)),
      login: { username: sentinel.username, password: sentinelPassword },
    },
    cluster: cluster && { nodes: cluster.nodes.map((node) => readNode(node)), tls: cluster.tls },
  };
}

/** What messages call the engine: without the user and the password of a URL. */
export function nameOfEngine({ url, sentinel, cluster }: Store): string {
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
