import type { FieldListLimits } from "./hpack/decoder.ts";
import type { Http2Stream } from "./stream.ts";

/** Bounds on a connection. */
export interface Http2Limits extends FieldListLimits {
  /** Requests at once; further ones are refused with REFUSED_STREAM. */
  readonly streams: number;
}

/** What happens on a connection. No listener may throw. */
export interface Http2Events {
  /** A request has come, with its body or the beginning of it; `stream.respond` answers it, now or later. */
  request(stream: Http2Stream): void;
  /** A stream was reset because of what the client sent: clients that do it again and again make work for nothing (CVE-2023-44487, CVE-2025-8671). */
  reset(): void;
  /** The client sent too many frames that advance no request, or a field block that is far too long; the connection ends. */
  flooded(): void;
  /** The client broke the protocol, and the connection ends. */
  failed(error: Error): void;
}
