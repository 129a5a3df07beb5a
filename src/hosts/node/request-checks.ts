import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { ServerLimits } from "../../config/server-limits.ts";
import type { Limit, LimitCounters } from "../../limits/limit-counters.ts";

type HeaderLimits = Pick<ServerLimits, "headerBytes" | "headerFields">;

/** Which limit the header fields of a request are beyond. `rawHeaders` has names and values in turn. */
export function beyondHeaders(limits: HeaderLimits, rawHeaders: readonly string[]): Limit | undefined {
  if (rawHeaders.length > 2 * limits.headerFields) return "limits.headerFields";
  let bytes = 0;
  for (let index = 0; index < rawHeaders.length; index++) bytes += rawHeaders[index]!.length;
  return bytes > limits.headerBytes ? "limits.headerBytes" : undefined;
}

/** RFC 9112 section 3.2: a request with two Host fields is answered with 400; Node's parser takes it. */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/** Refuses a request over HTTP/1.1 and ends the connection, since what comes next cannot be trusted. */
export function refusePlain(
  outgoing: ServerResponse,
  status: number,
  says: string,
  retryAfter?: number,
): void {
  outgoing.writeHead(status, {
    "content-type": "text/plain",
    "cache-control": "no-store",
    connection: "close",
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
  outgoing.end(`${says}\n`);
}

/** Refuses a request over HTTP/2 whose header fields are beyond a limit (RFC 6585 section 5), and counts it. */
export function refuseHeaders(stream: ServerHttp2Stream, limit: Limit, counters: LimitCounters): void {
  counters.hit(limit);
  stream.on("error", ignore);
  stream.respond({ ":status": 431, "cache-control": "no-store" }, { endStream: true });
  stream.resume();
}

function ignore(): void {}
