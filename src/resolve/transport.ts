import { MAX_MESSAGE_BYTES, PLAIN_CLIENT_BYTES, SMALLEST_PAYLOAD_BYTES } from "./limits.ts";
import type { Edns } from "./query.ts";

/** How an answer goes back to the client, as far as that shapes the answer. */
export interface Transport {
  readonly name: "https" | "udp" | "tcp" | "dot";
  /** The longest answer in octets, whatever the client takes. */
  readonly longestAnswer: number;
  /** The longest answer with addresses for a client without an OPT record; the addresses beyond are left out. */
  readonly longestPlainAnswer: number;
  /**
   * Whether an answer is one datagram: bounded by what the client takes, and where a set does not fit it is left out whole, with TC, since
   * the client asks again over TCP (RFC 2181 section 9, RFC 7766 section 5).
   */
  readonly isDatagram: boolean;
  /** Whether padding hides anything (RFC 7830 section 6). */
  readonly isEncrypted: boolean;
  /** After how long without a query the connection is closed, in units of 100 ms (RFC 7828 section 3.1); undefined where that is not said. */
  readonly keepaliveTimeout: number | undefined;
}

/** DNS over HTTPS (RFC 8484). */
export const HTTPS: Transport = {
  name: "https",
  longestAnswer: MAX_MESSAGE_BYTES,
  longestPlainAnswer: PLAIN_CLIENT_BYTES,
  isDatagram: false,
  isEncrypted: true,
  keepaliveTimeout: undefined,
};

/** DNS over UDP. @param payloadBytes the longest answer that is sent, from 512 */
export function udpTransport(payloadBytes: number): Transport {
  return {
    name: "udp",
    longestAnswer: payloadBytes,
    longestPlainAnswer: SMALLEST_PAYLOAD_BYTES,
    isDatagram: true,
    isEncrypted: false,
    keepaliveTimeout: undefined,
  };
}

/** DNS over TCP (RFC 7766) or TLS (RFC 7858). @param idleMilliseconds after which a connection without queries is closed */
export function streamTransport(name: "tcp" | "dot", idleMilliseconds: number): Transport {
  return {
    name,
    longestAnswer: MAX_MESSAGE_BYTES,
    longestPlainAnswer: MAX_MESSAGE_BYTES,
    isDatagram: false,
    isEncrypted: name === "dot",
    keepaliveTimeout: Math.min(Math.floor(idleMilliseconds / 100), 0xffff),
  };
}

/** The longest answer in octets to a query with this OPT record (RFC 6891 sections 6.2.3 to 6.2.5). */
export function longestAnswerFor(transport: Transport, edns: Edns | undefined): number {
  if (!transport.isDatagram) return transport.longestAnswer;
  const taken = Math.max(edns?.payloadBytes ?? 0, SMALLEST_PAYLOAD_BYTES);
  return Math.min(taken, transport.longestAnswer);
}
