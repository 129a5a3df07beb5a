import { connect } from "node:net";
import type { DnsEndpoint } from "./udp-exchange.ts";

/**
 * Sends a query over a new TCP connection (RFC 7766).
 * @throws the signal's reason, or the network's error
 */
export function exchangeTcp(
  { address, port }: DnsEndpoint,
  query: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect(port, address);
    const parts: Buffer[] = [];
    let received = 0;
    const end = (settle: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      settle();
    };
    const onAbort = () => end(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", (error) => end(() => reject(error)));
    socket.on("end", () => end(() => reject(new Error("the TCP connection ended within the answer"))));
    socket.on("connect", () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    });
    socket.on("data", (part: Buffer) => {
      parts.push(part);
      received += part.length;
      if (received < 2) return;
      const all = Buffer.concat(parts);
      const wanted = 2 + all.readUInt16BE(0);
      parts.splice(0, parts.length, all);
      if (received >= wanted) end(() => resolve(all.subarray(2, wanted)));
    });
  });
}
