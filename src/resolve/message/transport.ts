import type { Edns } from "../query.ts";
import { MAX_MESSAGE_BYTES, PLAIN_CLIENT_BYTES, SMALLEST_PAYLOAD_BYTES } from "./limits.ts";

/** The properties of a transport that change the answer. */
export interface Transport {
  readonly name: "https" | "udp" | "tcp" | "dot";
  /** The longest answer in bytes, even if the client accepts more. */
  readonly longestAnswer: number;
  /** The longest answer with addresses for a client without an OPT record; further addresses are left out. */
  readonly longestPlainAnswer: number;
  /**
   * Whether an answer is one datagram. Its size is bounded by the client's payload size, and an RRset that does not fit is left out whole, with TC:
   * the client repeats the query over TCP (RFC 2181 section 9, RFC 7766 section 5).
   */
  readonly isDatagram: boolean;
  /** Whether the transport is encrypted, so that padding is useful (RFC 7830 section 6). */
  readonly isEncrypted: boolean;
  /** The idle timeout of the connection in units of 100 ms (RFC 7828 section 3.1); undefined if answers do not report it. */
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

/** DNS over UDP. @param payloadBytes the longest answer, at least 512 */
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

/** DNS over TCP (RFC 7766) or TLS (RFC 7858). @param idleMilliseconds the idle timeout of connections */
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

/** The longest answer in bytes to a query with this OPT record (RFC 6891 sections 6.2.3 to 6.2.5). */
export function longestAnswerFor(transport: Transport, edns: Edns | undefined): number {
  if (!transport.isDatagram) return transport.longestAnswer;
  const taken = Math.max(edns?.payloadBytes ?? 0, SMALLEST_PAYLOAD_BYTES);
  return Math.min(taken, transport.longestAnswer);
}
