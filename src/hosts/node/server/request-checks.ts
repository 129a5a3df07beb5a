import type { ServerLimits } from "../../../config/limits.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import type { Limit } from "../../../limits/counters.ts";
import { refusal } from "./answer-request.ts";

type HeaderLimits = Pick<ServerLimits, "headerBytes" | "headerFields">;

/** The response to a field Expect with anything else (RFC 9110 section 10.1.1). */
export const UNMET_EXPECTATION = refusal(417, "the gateway supports no expectation but 100-continue");

/** The response to header fields beyond the limits. It has no body, since the method, which may be HEAD, may be beyond them, too. */
export const TOO_LARGE: HttpResponse = {
  status: 431,
  headers: { "cache-control": "no-store", "content-length": "0" },
  body: null,
};

/** The response to a request for another server (RFC 9110 section 15.5.20): the client asks again over another connection. */
export const MISDIRECTED = refusal(421, "this connection is for another host: use one of its own");

/** The limit that a request's header fields exceed. `rawHeaders` has names and values in turn. */
export function exceededHeaderLimit(limits: HeaderLimits, rawHeaders: readonly string[]): Limit | undefined {
  if (rawHeaders.length > 2 * limits.headerFields) return "limits.headerFields";
  let bytes = 0;
  for (let index = 0; index < rawHeaders.length; index++) bytes += rawHeaders[index]!.length;
  return bytes > limits.headerBytes ? "limits.headerBytes" : undefined;
}

/** RFC 9112 section 3.2: a request with two Host fields gets 400; Node's parser accepts it. */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}
