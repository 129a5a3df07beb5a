import { randomFillSync, randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import {
  FOLD,
  HEADER_BYTES,
  HeaderFlag,
  MAX_NAME_BYTES,
  readName,
  readRecord,
  readWord,
} from "../../../dns/name.ts";
import { readUpstreamAnswer, type Upstream } from "../../../forward/upstream.ts";
import { MAX_MESSAGE_BYTES } from "../../../resolve/message-writer.ts";
import { frameMessage, MessageFramer } from "../listeners/stream-connection.ts";

/** Options for queries to a name server. */
interface PlainUpstreamOptions {
  /**
   * Randomizes the case of the name; if an answer over UDP has another case, the query is repeated over TCP.
   * Default: false.
   */
  readonly randomizeCase?: boolean;
}

/** A name server for plain DNS: UDP, and TCP after a truncated answer (RFC 7766 section 5). */
export function createPlainUpstream(
  nameserver: string,
  endpoint: DnsEndpoint,
  options: PlainUpstreamOptions = {},
): Upstream {
  return {
    nameserver,
    async exchange(query, signal) {
      const sent = withId(query, randomInt(0x10000));
      if (options.randomizeCase === true) randomizeCase(sent);
      const isAnswer = (bytes: Uint8Array) => readUpstreamAnswer(sent, bytes) !== undefined;
      let answer = await exchangeUdp(endpoint, sent, isAnswer, signal);
      const isTruncated = (readWord(answer, 2) & HeaderFlag.TC) !== 0;
      if (isTruncated || (options.randomizeCase === true && !hasSameCase(sent, answer))) {
        answer = await exchangeTcp(endpoint, sent, signal);
        if (!isAnswer(answer)) throw new Error("its answer over TCP is not for this query");
      }
      const relayed = withId(answer, 0);
      if (options.randomizeCase === true) restoreCase(query, relayed);
      return relayed;
    },
    // Every exchange has its own sockets.
    close: () => {},
  };
}

function withId(message: Uint8Array, id: number): Uint8Array {
  const copy = Uint8Array.from(message);
  copy[0] = id >>> 8;
  copy[1] = id;
  return copy;
}

/** A datagram is sent again after this many milliseconds, as by resolvers: UDP loses some. */
const RESEND_INTERVAL = 500;

/** A name server for plain DNS. */
export interface DnsEndpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * Sends a datagram from a new socket (a random port, RFC 5452 section 9.2) until a `wanted` one arrives;
 * others are forged or late, and are ignored.
 * @throws the signal's reason, or the network's error
 */
export function exchangeUdp(
  { address, port }: DnsEndpoint,
  query: Uint8Array,
  wanted: (answer: Uint8Array) => boolean,
  signal: AbortSignal,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const socket = createSocket({ type: isIPv6(address) ? "udp6" : "udp4", signal });
  let resend: NodeJS.Timeout | undefined;
  return new Promise<Uint8Array>((resolve, reject) => {
    socket.on("close", () => reject(signal.reason));
    socket.on("error", reject);
    socket.on("message", (answer) => {
      // An exception in a listener would end the process; here it ends only this exchange.
      try {
        if (wanted(answer)) resolve(answer);
      } catch (error) {
        reject(error);
      }
    });
    // A connected socket receives datagrams from this address only, and an error if nothing listens there.
    socket.once("connect", () => {
      socket.send(query);
      resend = setInterval(() => socket.send(query), RESEND_INTERVAL);
    });
    // Without a callback, which would get it, an error is emitted: there may be no route.
    socket.connect(port, address);
  }).finally(() => {
    clearInterval(resend);
    if (!signal.aborted) socket.close();
  });
}

/**
 * Sends a query over a new TCP connection (RFC 7766).
 * @throws the signal's reason, or the network's error
 */
function exchangeTcp(
  { address, port }: DnsEndpoint,
  query: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const socket = connect({ host: address, port, signal });
  const framer = new MessageFramer(MAX_MESSAGE_BYTES);
  return new Promise<Uint8Array>((resolve, reject) => {
    socket.on("error", (error) => reject(signal.aborted ? signal.reason : error));
    socket.on("end", () => reject(new Error("the TCP connection ended within the answer")));
    socket.on("connect", () => socket.write(frameMessage(query)));
    socket.on("data", (part: Buffer) => {
      framer.push(part);
      const answer = framer.next();
      if (answer !== undefined) resolve(answer);
    });
  }).finally(() => socket.destroy());
}

const CASE_BIT = 0x20;
/** Random bytes, unused from `randomUsed` on: many at once cost as much as one. */
const random = new Uint8Array(4096);
let randomUsed = random.length;

/**
 * Randomizes the case of the letters in the question's name, in place. Servers ignore case but echo the name
 * unchanged, so each letter is one more bit that a forger of answers must guess (draft-vixie-dnsext-dns0x20).
 */
export function randomizeCase(query: Uint8Array): void {
  if (randomUsed + MAX_NAME_BYTES > random.length) {
    randomFillSync(random);
    randomUsed = 0;
  }
  forEachLetter(query, (at) => {
    if ((random[randomUsed++]! & 1) === 1) query[at] = query[at]! ^ CASE_BIT;
  });
}

/** Whether the question's name has the same case in both messages; their questions are otherwise equal. */
export function hasSameCase(query: Uint8Array, answer: Uint8Array): boolean {
  const end = HEADER_BYTES + nameLength(query);
  for (let at = HEADER_BYTES; at < end; at++) if (query[at] !== answer[at]) return false;
  return true;
}

/**
 * Restores the query's case in the question's name and in records with that name, in place. The questions are
 * otherwise equal.
 */
export function restoreCase(query: Uint8Array, answer: Uint8Array): void {
  const name = query.subarray(HEADER_BYTES, HEADER_BYTES + nameLength(query));
  answer.set(name, HEADER_BYTES);
  let position = HEADER_BYTES + name.length + 4;
  for (let record = readRecord(answer, position); record; record = readRecord(answer, position)) {
    if (isName(answer, record.start, name)) answer.set(name, record.start);
    position = record.end;
  }
}

function nameLength(message: Uint8Array): number {
  return readName(message, HEADER_BYTES) - HEADER_BYTES;
}

function forEachLetter(message: Uint8Array, visit: (at: number) => void): void {
  for (let label = HEADER_BYTES; message[label] !== 0; label += message[label]! + 1)
    for (let at = label + 1; at <= label + message[label]!; at++) {
      const letter = message[at]! | CASE_BIT;
      if (letter >= 0x61 && letter <= 0x7a) visit(at);
    }
}

function isName(message: Uint8Array, start: number, name: Uint8Array): boolean {
  for (const [index, byte] of name.entries())
    if (FOLD[message[start + index] ?? 0] !== FOLD[byte]) return false;
  return true;
}
