import type { Duplex } from "node:stream";

/** Takes what was read: the bytes from 0 to `length`, which change after the call. Node hands them over in this order. */
export type TakeRead = (length: number, bytes: Buffer) => void;

/** A member of Node's sockets: their option `onread` sets these, but TLS sockets of servers do not take it. */
const MEMBERS = ["kBuffer", "kBufferCb"] as const;
type Member = (typeof MEMBERS)[number];

/** What Node's sockets have that read into a buffer of the program. */
type ReadingSocket = Duplex & Record<symbol, unknown> & { readonly _handle?: ReadingHandle | null };
interface ReadingHandle {
  useUserBuffer?: (buffer: Buffer) => void;
}

const READ_BYTES = 64 * 1024;

/** All connections are read into this one, one read at a time. */
let buffer: Buffer | undefined;
let symbols: Readonly<Record<Member, symbol>> | undefined;

/**
 * Hands all that is read from a socket to `take`. A socket of Node reads into one buffer, without a stream's events, ticks and buffers: with one request in
 * flight that is a tenth to a fifth of the CPU time of HTTP/2 (docs/explanation/benchmarks.md). Where a runtime does not have Node's members, the event `data` comes.
 */
export function takeReads(socket: Duplex, take: TakeRead): void {
  // Also for what the stream holds already.
  socket.on("data", (bytes: Buffer) => take(bytes.length, bytes));
  const reading = socket as ReadingSocket;
  const handle = reading._handle;
  if (typeof handle?.useUserBuffer !== "function") return;
  symbols ??= membersOf(reading);
  if (symbols === undefined || reading[symbols.kBuffer] !== null) return;
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  handle.useUserBuffer(buffer);
  reading[symbols.kBuffer] = buffer;
  reading[symbols.kBufferCb] = take;
}

function membersOf(socket: ReadingSocket): typeof symbols {
  const found = Object.getOwnPropertySymbols(socket);
  const [kBuffer, kBufferCb] = MEMBERS.map((name) => found.find(({ description }) => description === name));
  return kBuffer === undefined || kBufferCb === undefined ? undefined : { kBuffer, kBufferCb };
}
