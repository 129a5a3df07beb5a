import { connect, type LookupFunction, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SocksClient } from "socks";
import { Agent, buildConnector, Client, type Dispatcher, ProxyAgent } from "undici";
import { hostOf, isInRange, isLoopbackHost, isMapped, parseAddress } from "../dns/address.ts";

/** TLS with a server, as `tls.connect` takes it. */
export interface OutgoingTls {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
}

/** How a server is reached. */
export interface OutgoingOptions
  extends Pick<Agent.Options, "connections" | "allowH2" | "keepAliveTimeout" | "headersTimeout"> {
  /** With the server, also through a proxy. */
  readonly tls?: OutgoingTls;
  /** Default: the one that the environment names for the server. */
  readonly proxy?: URL | undefined;
  /** Default: that of the process. */
  readonly environment?: Environment | undefined;
  /** Looks the server's host up, then no proxy of the environment does. Default: the system does. */
  readonly lookup?: LookupFunction | undefined;
  /** The longest time for a new connection, in milliseconds. */
  readonly timeout?: number;
}

/** What to look at where a connection fails, by code. */
const NEXT_STEPS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there: start the server, or correct host and port",
  ENOTFOUND: "no name server knows the host: correct its name",
  ETIMEDOUT: "nothing answers there: look at host, port, firewalls and HTTPS_PROXY",
  UND_ERR_CONNECT_TIMEOUT: "nothing answers there: look at host, port, firewalls and HTTPS_PROXY",
  ERR_SSL_WRONG_VERSION_NUMBER: "the port does not speak TLS: is the address http://?",
};

/** What to do about an error of a connection, to follow its message; empty where that is not known. */
export function nextStep(error: unknown): string {
  const all = error instanceof AggregateError ? error.errors : [error];
  for (let one: unknown = all[0]; one instanceof Error; one = one.cause) {
    const step = NEXT_STEPS[(one as NodeJS.ErrnoException).code ?? ""];
    if (step !== undefined) return `: ${step}`;
  }
  return "";
}

/**
 * Milliseconds of silence until TCP probes a connection, as in client-go: load balancers drop what is idle
 * for a minute.
 */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 30_000 };

/**
 * Opens connections to a server as they are needed, through a proxy of HTTP (CONNECT) or SOCKS 5 if there is
 * one. Its user closes it.
 * @throws {ProxyInvalid}
 */
export function openDispatcher(server: URL, options: OutgoingOptions = {}): Dispatcher {
  const { tls: given = {}, proxy: named, environment, lookup, timeout, ...pool } = options;
  // Each certificate of `ca` is trusted, also one that is not self-signed, as in Go and curl.
  const tls = given.ca === undefined ? given : { ...given, allowPartialTrustChain: true };
  const proxy = named ?? (lookup === undefined ? proxyOf(server, environment) : undefined);
  const connect = {
    ...tls,
    ...KEEP_ALIVE,
    ...(timeout !== undefined && { timeout }),
    ...(lookup && { lookup }),
  };
  if (proxy === undefined) return new Agent({ ...pool, connect });
  if (proxy.protocol.startsWith("socks"))
    return new Agent({ ...pool, connect: throughSocks(proxy, tls, timeout) });
  // A certificate for the server is not for its proxy.
  const { cert: _, key: __, servername: ___, ...proxyTls } = connect;
  return new ProxyAgent({ ...pool, uri: proxy.href, requestTls: tls, proxyTls });
}

function throughSocks(proxy: URL, tls: OutgoingTls, timeout: number | undefined): buildConnector.connector {
  const connectTls = buildConnector({ ...tls, ...(timeout !== undefined && { timeout }) });
  return (options, callback) => {
    const isTls = options.protocol === "https:";
    openSocksSocket(proxy, hostOf(options), Number(options.port || (isTls ? 443 : 80)), timeout).then(
      (socket) => {
        socket.setKeepAlive(true, KEEP_ALIVE.keepAliveInitialDelay);
        if (isTls) connectTls({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}

/** @param timeout milliseconds; undefined: as long as the library waits */
async function openSocksSocket(
  proxy: URL,
  host: string,
  port: number,
  timeout: number | undefined,
): Promise<Socket> {
  const { userId, password } = credentialsOf(proxy);
  const { socket } = await SocksClient.createConnection({
    command: "connect",
    ...(timeout !== undefined && { timeout }),
    proxy: {
      host: hostOf(proxy),
      port: Number(proxy.port || 1080),
      type: 5,
      ...(userId !== "" && { userId, password }),
    },
    destination: { host, port },
  });
  return socket;
}

/**
 * A connection to a server of HTTPS before TLS, through the proxy of the environment if there is one.
 * @param timeout milliseconds
 */
export async function openSocket(server: URL, timeout: number): Promise<Duplex> {
  const signal = AbortSignal.timeout(timeout);
  const [host, port] = [hostOf(server), Number(server.port || 443)];
  const proxy = proxyOf(server);
  if (proxy === undefined) return connect({ host, port, signal });
  if (proxy.protocol.startsWith("socks")) return openSocksSocket(proxy, host, port, timeout);
  const { userId, password } = credentialsOf(proxy);
  const basic = `Basic ${Buffer.from(`${userId}:${password}`).toString("base64")}`;
  const { socket } = await new Client(proxy.origin).connect({
    path: `${server.hostname}:${port}`,
    headers: userId === "" ? {} : { "proxy-authorization": basic },
    signal,
  });
  return socket;
}

function credentialsOf({ username, password }: URL) {
  return { userId: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };
const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "socks5:", "socks5h:"]);

/**
 * The proxy that an environment names for a URL, by the rules of Go's clients, of which kubectl is one
 * (golang.org/x/net/http/httpproxy): `HTTPS_PROXY` or `https_proxy` for https, `HTTP_PROXY` or `http_proxy`
 * for http, unless `NO_PROXY` or `no_proxy` lists the host. Undefined for none.
 * @throws {ProxyInvalid}
 */
export function proxyOf(url: URL, environment: Environment = process.env): URL | undefined {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const value = variable(environment, name);
  if (value === "" || !usesProxy(url, variable(environment, "NO_PROXY"))) return undefined;
  return readProxy(name, value);
}

/** A variable of the environment that has no URL of a proxy. */
export class ProxyInvalid extends Error {
  readonly code = "PROXY_INVALID";
}

function readProxy(name: string, value: string): URL {
  // Without a scheme it is a host with a port.
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (proxy !== null && proxy.hostname !== "" && SCHEMES.has(proxy.protocol)) return proxy;
  // Its text may have a password.
  throw new ProxyInvalid(
    `the variable ${name} must be http://HOST:PORT of a proxy, or https:// or socks5://`,
  );
}

/** Go reads upper case first. */
function variable(environment: Environment, name: string): string {
  return environment[name] || environment[name.toLowerCase()] || "";
}

function usesProxy(url: URL, exceptions: string): boolean {
  if (isLoopbackHost(url.hostname)) return false;
  const host = hostOf(url);
  const address = readAddress(host);
  const port = url.port || DEFAULT_PORTS[url.protocol] || "";
  return !exceptions.split(",").some((entry) => isExcepted(entry.trim().toLowerCase(), host, address, port));
}

/** `*`, a range of addresses, or an address, a domain or `.` and a domain, each with or without a port. */
function isExcepted(entry: string, host: string, address: Uint8Array | undefined, port: string): boolean {
  if (entry === "" || entry === "*") return entry === "*";
  const [, start = "", bits] = /^(.*)\/(\d{1,3})$/.exec(entry) ?? [];
  const first = readAddress(start);
  if (first !== undefined && Number(bits) <= 8 * first.length)
    return address !== undefined && isInRange(address, { bytes: first, prefixBits: Number(bits) });
  const [, bracketed, plain, onPort] = /^(?:\[(.*)\]|([^:]*)):(\d+)$/.exec(entry) ?? [];
  const named = bracketed ?? plain ?? entry;
  if (named === "" || (onPort !== undefined && onPort !== port)) return false;
  const single = readAddress(named);
  if (single !== undefined)
    return address !== undefined && isInRange(address, { bytes: single, prefixBits: 8 * single.length });
  const domain = named.replace(/^\*\./, ".");
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** IPv4 in IPv6 counts as IPv4. */
function readAddress(text: string): Uint8Array | undefined {
  const bytes = parseAddress(text);
  return bytes !== undefined && isMapped(bytes) ? bytes.subarray(12) : bytes;
}
