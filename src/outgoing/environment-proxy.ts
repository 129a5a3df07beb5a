import { hostOf, isInRange, isLoopbackHost, isMapped, parseAddress } from "../dns/address.ts";

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };
const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "socks5:", "socks5h:"]);

/**
 * The proxy that an environment names for a URL, by the rules of Go's clients, of which kubectl is one (golang.org/x/net/http/httpproxy): `HTTPS_PROXY`
 * or `https_proxy` for https, `HTTP_PROXY` or `http_proxy` for http, unless `NO_PROXY` or `no_proxy` lists the host. Undefined for none.
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
  const [start = "", bits] = entry.split("/");
  const first = readAddress(start);
  if (bits !== undefined && first !== undefined)
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
