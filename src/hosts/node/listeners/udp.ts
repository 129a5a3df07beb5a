import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout } from "node:timers/promises";
import type { ClientRequest } from "../../../access/client.ts";
import type {
  Answered,
  AnswerQuery,
  Endpoint,
  QueryCounters,
  Unanswered,
} from "../../../answer/answer-query.ts";
import type { Dns } from "../../../config/listeners.ts";
import { parseAddressRanges } from "../../../dns/address.ts";
import { type ClientBuckets, ClientRate, type Rate } from "../../../limits/client-rate.ts";
import type { Transport } from "../../../resolve/message-writer.ts";
import type { Answer } from "../../../resolve/record-writer.ts";
import { answerFailure, answerTruncated } from "../../../resolve/resolve.ts";
import { asOneListener, type Listener } from "../listen.ts";

/** The parts of a UDP listener. */
interface UdpParts {
  readonly answer: AnswerMessage;
  readonly transport: Transport;
  readonly rateLimit: ResponseRateLimit;
  readonly counters: QueryCounters;
  readonly onError: (error: unknown) => void;
  /** See `ListenersOptions`. */
  readonly reusePort?: boolean | undefined;
  /** Default: those of the system. */
  readonly interfaces?: typeof networkInterfaces;
}

/** The receive buffer in bytes: it holds a burst that arrives while the gateway compiles. */
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** How often the addresses of this host are read again, in milliseconds. */
const FOLLOW_INTERVAL = 5000;

/**
 * Answers DNS over UDP (RFC 1035 section 4.2.1) from the address that was queried: a socket for `0.0.0.0` or
 * `::` would answer from the address that leads to the client (RFC 2181 section 4), so each address of the
 * host has one, and those that come and go are followed.
 * @throws the network's error
 */
export async function listenUdp(host: string, port: number, parts: UdpParts): Promise<Listener> {
  if (host !== "0.0.0.0" && host !== "::") return bindUdp(host, port, parts);
  const family = isIPv6(host) ? "IPv6" : "IPv4";
  const open = new Map<string, Listener>();
  const failing = new Set<string>();
  let own = port;
  const follow = async (onFailure: (error: unknown) => void) => {
    const present = addressesOf(parts.interfaces ?? networkInterfaces, family);
    for (const [address, listener] of open)
      if (!present.has(address)) {
        open.delete(address);
        await listener.stop(0);
      }
    for (const address of present)
      try {
        if (open.has(address)) continue;
        const listener = await bindUdp(address, own, parts);
        own = listener.port;
        open.set(address, listener);
        failing.delete(address);
      } catch (error) {
        // An address that has just come is not there yet.
        if ((error as NodeJS.ErrnoException).code === "EADDRNOTAVAIL" || failing.has(address)) continue;
        failing.add(address);
        onFailure(error);
      }
  };
  const stop = (grace: number) => asOneListener([...open.values()]).stop(grace);
  try {
    await follow((error) => {
      throw error;
    });
  } catch (error) {
    await stop(0);
    throw error;
  }
  let following = Promise.resolve();
  const timer = setInterval(() => {
    following = following.then(() => follow(parts.onError));
  }, FOLLOW_INTERVAL).unref();
  return {
    port: own,
    stop: async (grace) => {
      clearInterval(timer);
      await following;
      await stop(grace);
    },
  };
}

/** Those of all network interfaces; link-local ones with their interface. */
function addressesOf(interfaces: typeof networkInterfaces, family: "IPv4" | "IPv6"): Set<string> {
  const found = new Set<string>();
  for (const [name, addresses = []] of Object.entries(interfaces()))
    for (const { family: own, address } of addresses)
      if (own === family) found.add(address.startsWith("fe80:") ? `${address}%${name}` : address);
  return found;
}

async function bindUdp(host: string, port: number, parts: UdpParts): Promise<Listener> {
  const family = isIPv6(host) ? "udp6" : "udp4";
  const socket = createSocket({
    type: family,
    ipv6Only: family === "udp6",
    reusePort: parts.reusePort ?? false,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    lookup: noLookup,
  });
  socket.on("error", parts.counters.errors.listeners.dns_udp);
  const listening = once(socket, "listening");
  socket.bind({ address: host, port, exclusive: true });
  try {
    await listening;
  } catch (error) {
    // Node leaves it open, and a wildcard address tries again every few seconds.
    socket.close();
    throw error;
  }
  const pending = new Set<Promise<void>>();
  socket.on("message", (query, client) => {
    try {
      const later = answerDatagram(socket, query, client, parts);
      if (later === undefined) return;
      pending.add(later);
      void later.finally(() => pending.delete(later));
    } catch (error) {
      parts.onError(error);
    }
  });
  return {
    port: socket.address().port,
    stop: async (grace) => {
      socket.removeAllListeners("message");
      await Promise.race([Promise.all(pending), setTimeout(grace, undefined, { ref: false })]);
      await new Promise<void>((stopped) => socket.close(stopped));
    },
  };
}

/** @returns a promise where the answer comes later */
function answerDatagram(
  socket: Socket,
  query: Buffer,
  client: RemoteInfo,
  parts: UdpParts,
): Promise<void> | undefined {
  // Port 0 cannot receive an answer.
  if (client.port === 0) return undefined;
  const verdict = parts.rateLimit.take(client.address);
  if (verdict !== "answer") {
    const answer = verdict === "truncate" ? answerTruncated(query, parts.transport) : undefined;
    parts.counters.rateLimited.hit(answer === undefined ? "dropped" : "truncated");
    if (answer !== undefined) send(socket, answer, client, parts);
    return undefined;
  }
  const answered = parts.answer(query, client.address);
  const sendAnswer = (answer: Answer | undefined) => {
    if (answer !== undefined) send(socket, answer.bytes, client, parts);
  };
  if (answered instanceof Promise) return answered.then(sendAnswer);
  sendAnswer(answered);
  return undefined;
}

function send(
  socket: Socket,
  answer: Uint8Array,
  { port, address }: RemoteInfo,
  { onError }: UdpParts,
): void {
  try {
    socket.send(answer, port, address);
  } catch (error) {
    // The socket was closed while a forwarded query was pending.
    if ((error as NodeJS.ErrnoException).code !== "ERR_SOCKET_DGRAM_NOT_RUNNING") onError(error);
  }
}

/** Replaces Node's look-up before each datagram: the destination is already an address. */
function noLookup(
  address: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void {
  callback(null, address, isIPv6(address) ? 6 : 4);
}

/** The decision about a query over UDP. */
type RateVerdict = "answer" | "truncate" | "drop";

/**
 * Clients of one network share a bucket: an attacker who forges an address can forge its neighbours', too.
 */
const NETWORK = { ipv4PrefixBits: 24, ipv6PrefixBits: 56 };
const MOST_NETWORKS = 100_000;

/**
 * Response rate limiting: a token bucket for each network of clients (/24, /56), so that answers to forged
 * addresses do not become an attack on their owners. Over the limit every n-th query gets a truncated answer,
 * so that a real client uses TCP, where addresses cannot be forged; the others get no answer.
 */
export class ResponseRateLimit {
  readonly #slip: number;
  readonly #clients: ClientRate;

  /**
   * @param now a monotonic clock in milliseconds
   * @param create makes the buckets. Default: this thread alone has them
   */
  constructor(
    { answersPerSecond, burst, slip, exempt }: Dns["rateLimit"],
    now?: () => number,
    create?: (rate: Rate) => ClientBuckets,
  ) {
    this.#slip = slip;
    const ranges = parseAddressRanges(exempt);
    this.#clients = new ClientRate(
      { perSecond: answersPerSecond, burst, exempt: ranges, mostClients: MOST_NETWORKS, ...NETWORK },
      now,
      create,
    );
  }

  /** Decides about a query from this address, and counts it. */
  take(address: string): RateVerdict {
    if (this.#clients.take(address) === 0) return "answer";
    return this.#slip > 0 && this.#clients.refusals(address) % this.#slip === 0 ? "truncate" : "drop";
  }
}

/**
 * Answers one message of plain DNS or DNS over TLS; undefined for bytes that are not a query.
 * @param query the caller may reuse its bytes after the call
 * @param clientAddress the socket's remote address
 */
export type AnswerMessage = (
  query: Uint8Array,
  clientAddress: string,
) => Answer | undefined | Promise<Answer | undefined>;

/** Answers the queries of a listener over one of its transports. */
export function createAnswerMessage(
  answerQuery: AnswerQuery,
  endpoint: Endpoint,
  counters: QueryCounters,
  onError: (error: unknown) => void,
): AnswerMessage {
  const { transport } = endpoint;
  const answerOf = (answered: Answered | Unanswered): Answer | undefined => {
    if (typeof answered !== "string") return answered.answer;
    counters.malformed.hit(transport.name);
    return undefined;
  };
  const failed = (query: Uint8Array, error: unknown): Answer | undefined => {
    onError(error);
    const answer = answerFailure(query, { transport });
    if (answer !== undefined) counters.answered(query, answer.outcome, false, transport.name);
    return answer;
  };
  return (query, clientAddress) => {
    try {
      const answered = answerQuery(new SocketRequest(clientAddress), query, endpoint);
      if (!(answered instanceof Promise)) return answerOf(answered);
      // The caller may reuse the bytes.
      const own = Uint8Array.from(query);
      return answered.then(answerOf).catch((error) => failed(own, error));
    } catch (error) {
      return failed(query, error);
    }
  };
}

/** A client of which only the socket is known. */
class SocketRequest implements ClientRequest {
  readonly client: { readonly address: string };

  constructor(address: string) {
    this.client = { address };
  }

  header(): null {
    return null;
  }
}
