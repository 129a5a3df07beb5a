import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

/** A datagram is sent again after this many milliseconds, as by resolvers: UDP loses some. */
const RESEND_INTERVAL = 500;

/** A name server for plain DNS. */
export interface DnsEndpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * Sends a datagram from a new socket (a random port, RFC 5452 section 9.2) until a `wanted` one arrives; others
 * are forged or late, and are ignored.
 * @throws the signal's reason, or the network's error
 */
export function exchangeUdp(
  { address, port }: DnsEndpoint,
  query: Uint8Array,
  wanted: (answer: Uint8Array) => boolean,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
    let resend: NodeJS.Timeout | undefined;
    const end = (settle: () => void) => {
      clearInterval(resend);
      signal.removeEventListener("abort", onAbort);
      socket.removeAllListeners();
      // An error that arrived after the answer.
      socket.on("error", () => {});
      socket.close();
      settle();
    };
    const onAbort = () => end(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("message", (answer) => {
      // An exception in a listener would end the process; here it ends only this exchange.
      try {
        if (wanted(answer)) end(() => resolve(answer));
      } catch (error) {
        end(() => reject(error));
      }
    });
    // A connected socket receives datagrams from this address only, and an error if nothing listens there.
    socket.connect(port, address, () => {
      socket.send(query);
      resend = setInterval(() => socket.send(query), RESEND_INTERVAL);
    });
  });
}
