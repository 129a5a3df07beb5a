import { isIPv6, type LookupFunction } from "node:net";
import type { Dispatcher } from "undici";
import { readAtMost } from "../../../dns/bounded-body.ts";
import { type Upstream, withoutAge } from "../../../forward/upstream.ts";
import { DNS_MESSAGE, essence } from "../../../http/messages/message.ts";

/** The options for one DNS resource. */
interface DohAccess {
  /** PEM certificates to trust instead of the system's; undefined for those. */
  readonly ca: () => string | undefined;
  /** The bearer token of the cluster; undefined for none. */
  readonly token: () => string | undefined;
  /** Addresses of the URL's host. Default: the system looks them up. */
  readonly addresses?: readonly string[];
  /** The longest time for an exchange, in milliseconds. */
  readonly timeout: number;
  /**
   * Exchanges at a time at most. Over HTTP/1.1 each of them has a connection: with fewer connections a few
   * slow names would hold up all others.
   */
  readonly queriesInFlight: number;
}

const MOST_ANSWER_BYTES = 65_535;
/** The longest time for a new connection in milliseconds. */
const CONNECT_TIMEOUT = 5000;
/**
 * The part of an exchange's time after which a silent connection is tested, and replaced if it is dead.
 * Otherwise a connection that a firewall forgot would be used for ever.
 */
const SILENCE = 0.8;

/** What undici and the system report of a connection that the server closed. */
const CLOSED: ReadonlySet<unknown> = new Set(["UND_ERR_SOCKET", "UND_ERR_INFO", "ECONNRESET", "EPIPE"]);

/** A name server behind DNS over HTTPS (RFC 8484): POST over kept-alive connections. */
export function createDohUpstream(nameserver: string, url: URL, access: DohAccess): Upstream {
  let opened: { readonly ca: string | undefined; readonly pool: Promise<Dispatcher> } | undefined;
  const close = () => {
    opened?.pool.then((pool) => pool.close()).catch(() => {});
  };
  const openPool = () => {
    const ca = access.ca();
    if (opened !== undefined && opened.ca === ca) return opened.pool;
    close();
    opened = { ca, pool: open(url, access, ca) };
    return opened.pool;
  };
  const post = async (query: Uint8Array, signal: AbortSignal) => {
    const pool = await openPool();
    const token = access.token();
    return pool.request({
      origin: url.origin,
      method: "POST",
      path: url.pathname + url.search,
      headers: {
        "content-type": DNS_MESSAGE,
        accept: DNS_MESSAGE,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: query,
      signal,
    });
  };
  const exchange = async (query: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    // A server that restarts closes kept connections, also while a query is on its way. A query is
    // idempotent.
    const { statusCode, headers, body } = await post(query, signal).catch((error) => {
      if (!CLOSED.has(error.code)) throw error;
      return post(query, signal);
    });
    const type = essence(String(headers["content-type"] ?? ""));
    if (statusCode !== 200 || type !== DNS_MESSAGE) {
      await body.dump({ limit: MOST_ANSWER_BYTES }).catch(() => {});
      throw new Error(`it answered HTTP ${statusCode}${statusCode === 200 ? ` with ${type}` : ""}`);
    }
    const answer = await readAtMost(body, MOST_ANSWER_BYTES);
    if (answer === undefined) throw new Error("its answer is longer than a DNS message");
    return withoutAge(answer, String(headers.age ?? ""));
  };
  return { nameserver, exchange, close };
}

/** Most gateways ask no name server over HTTPS; undici takes 90 ms of CPU time to load, in each thread. */
async function open(
  url: URL,
  { addresses = [], timeout, queriesInFlight }: DohAccess,
  ca: string | undefined,
): Promise<Dispatcher> {
  const { openDispatcher } = await import("../../../outgoing/dispatcher.ts");
  return openDispatcher(url, {
    connections: queriesInFlight,
    allowH2: true,
    tls: { ca },
    timeout: CONNECT_TIMEOUT,
    headersTimeout: Math.round(timeout * SILENCE),
    lookup: addresses.length === 0 ? undefined : lookupIn(addresses),
  });
}

/** Returns a host's known addresses without a look-up. */
function lookupIn(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all }, done) => {
    if (all === true) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  };
}
