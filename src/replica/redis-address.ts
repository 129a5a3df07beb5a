import { hostOf } from "../dns/address.ts";

/** Where a server listens. */
export interface Endpoint {
  /** A name or an IP address, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** As whom to connect to a server. */
export interface Login {
  /** The ACL user. Default: `default`. */
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Sentinels, and the servers that they watch. */
export interface SentinelAddress {
  /** How the Sentinels call the group. */
  readonly name: string;
  readonly nodes: readonly Endpoint[];
  /** At the Sentinels themselves. */
  readonly login: Login;
  readonly database?: number | undefined;
  /** Whether Sentinels and servers use TLS. */
  readonly tls: boolean;
}

/** A Cluster: its nodes say which of them has the keys. */
interface ClusterAddress {
  /** Some of the nodes. */
  readonly nodes: readonly Endpoint[];
  readonly tls: boolean;
}

/**
 * Where Valkey or Redis is, by one of `url`, `sentinel` and `cluster`, and as whom to connect. Passwords and
 * certificates are read for each connection, since they may change.
 */
export interface RedisAddress extends Login {
  /**
   * `redis://` or `rediss://` (TLS), with host, port and database; a user and a password in it count where
   * the fields are absent. May lead to a node of a Cluster.
   */
  readonly url?: string | undefined;
  readonly sentinel?: SentinelAddress | undefined;
  readonly cluster?: ClusterAddress | undefined;
  /** Certificates in PEM of the authorities that sign the servers'. Default: those of Node. */
  readonly ca?: string | undefined;
  /** The certificate in PEM that servers which demand one get, and its key. */
  readonly identity?: { readonly cert: string; readonly key: string } | undefined;
}

const PORT = 6379;

/** What a URL says of a server: missing parts are undefined. @param url as in `RedisAddress` */
export function readUrl(url: string) {
  const parsed = new URL(url);
  const { protocol, port, pathname, username, password } = parsed;
  return {
    endpoint: { host: hostOf(parsed), port: Number(port || PORT) },
    tls: protocol === "rediss:",
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    database: Number(pathname.slice(1)),
  };
}
