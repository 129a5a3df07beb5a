import { hostOf, parseAddress } from "../../dns/address.ts";
import type { OutsidePolicy } from "../../forward/outside.ts";

/** A listener for DNS without HTTP. */
export interface DnsPort {
  /** Its address if it listens on only one; undefined for all addresses of the gateway. */
  readonly address: string | undefined;
  readonly port: number;
}

/**
 * The facts in setup files. `readSetupFacts` validates every text: host, zone and names cannot break out of a
 * line of a file.
 */
export interface SetupFacts {
  /** The zone, in lower case, without the trailing dot. */
  readonly zone: string;
  /** `https://HOST[:PORT]`. */
  readonly origin: string;
  /** The path prefix of the client: `/tokens/<token>`, or empty. */
  readonly prefix: string;
  /** The DNS resource (RFC 8484): `<origin><prefix>/dns-query`. */
  readonly resource: string;
  /** A name or an address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** The known addresses of `host`. */
  readonly addresses: readonly string[];
  /** An example name in the zone, and the type of its records. */
  readonly example: { readonly name: string; readonly type: string };
  readonly outside: OutsidePolicy;
  /** Plain DNS over UDP and TCP, if it is on. */
  readonly dns: DnsPort | undefined;
  /** DNS over TLS, if it is on. */
  readonly dot: DnsPort | undefined;
  /** Whether clients need the certificate's file. */
  readonly isSelfSigned: boolean;
}

/** The unchecked facts. */
export interface SetupRequest
  extends Partial<Pick<SetupFacts, "addresses" | "outside" | "isSelfSigned" | "dns" | "dot">> {
  /** The gateway's public address, or that of the request. */
  readonly url: string;
  /** The path prefix of the client. Default: empty. */
  readonly prefix?: string | undefined;
  readonly zone: string;
  /** Default: a name that every zone has. */
  readonly example?: SetupFacts["example"] | undefined;
}

/** Setup files cannot contain these facts; `message` says what to do. */
export class SetupError extends Error {
  readonly code = "INVALID_SETUP";
}

const PREFIX = /^(?:\/tokens\/[A-Za-z0-9\-._~]{1,200})?$/;
const NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*$/;

/**
 * @throws {SetupError} for a URL that is not `https://HOST[:PORT]`, or names with characters that a setup
 * file cannot contain
 */
export function readSetupFacts(request: SetupRequest): SetupFacts {
  const { host, port, origin } = readOrigin(request.url);
  const zone = readName(request.zone, "the zone");
  const { prefix = "" } = request;
  if (!PREFIX.test(prefix)) throw new SetupError("the token has characters that a setup file cannot contain");
  const { example = { name: `dns-version.${zone}`, type: "TXT" } } = request;
  if (!/^[A-Z]{1,10}$/.test(example.type))
    throw new SetupError("the type of the example is not a record type");
  const own = host === "localhost" ? ["127.0.0.1", "::1"] : isAddress(host) ? [host] : [];
  return {
    zone,
    origin,
    prefix,
    resource: `${origin}${prefix}/dns-query`,
    host,
    port,
    addresses: own.length > 0 ? own : (request.addresses ?? []),
    example: { name: readName(example.name, "the example"), type: example.type },
    outside: request.outside ?? "refuse",
    dns: request.dns,
    dot: request.dot,
    isSelfSigned: request.isSelfSigned ?? false,
  };
}

/** Whether the host is an IP address. */
export function isAddress(host: string): boolean {
  return parseAddress(host) !== undefined;
}

/** A host in URL syntax: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function readOrigin(text: string): Pick<SetupFacts, "host" | "port" | "origin"> {
  const url = URL.parse(text);
  if (url === null)
    throw new SetupError(`${shown(text)} is not a URL: set publicUrl to https://HOST or https://HOST:PORT`);
  if (url.protocol !== "https:")
    throw new SetupError(
      "DNS over HTTPS needs an https address, and this request used another one: set publicUrl to the gateway's https address",
    );
  if (url.username !== "" || url.password !== "")
    throw new SetupError("a public address must not contain a password");
  const host = hostOf(url).replace(/\.$/, "");
  if (!isAddress(host) && !NAME.test(host))
    throw new SetupError(`${shown(url.hostname)} is not a host name that a setup file can contain`);
  const port = url.port === "" ? 443 : Number(url.port);
  return { host, port, origin: `https://${place(host, port, 443)}` };
}

function readName(text: string, what: string): string {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (!NAME.test(name))
    throw new SetupError(`${what} ${shown(name)} has characters that a setup file cannot contain`);
  return name;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** `ADDRESS:PORT`, without the default port. */
export function place(address: string, port: number, usual: number): string {
  return port === usual ? inUrl(address) : `${inUrl(address)}:${port}`;
}
