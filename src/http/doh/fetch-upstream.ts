import { readAtMost } from "../../dns/bounded-body.ts";
import { type Upstream, withoutAge } from "../../forward/upstream.ts";
import { DNS_MESSAGE, essence } from "../messages/message.ts";

const MOST_ANSWER_BYTES = 65_535;

/**
 * A name server behind DNS over HTTPS (RFC 8484), by POST, for hosts that have `fetch`.
 * @param send default: the host's
 */
export function createFetchUpstream(
  nameserver: string,
  url: URL,
  send: (url: string, request: RequestInit) => Promise<Response> = (target, request) =>
    fetch(target, request),
): Upstream {
  return {
    nameserver,
    async exchange(query, signal) {
      const response = await send(url.href, {
        method: "POST",
        headers: { "content-type": DNS_MESSAGE, accept: DNS_MESSAGE },
        body: query as Uint8Array<ArrayBuffer>,
        // A redirect could send queries elsewhere; not every host supports "error".
        redirect: "manual",
        signal,
      });
      const type = essence(response.headers.get("content-type") ?? "");
      if (response.status !== 200 || type !== DNS_MESSAGE) {
        await response.body?.cancel();
        throw new Error(
          `it answered HTTP ${response.status}${response.status === 200 ? ` with ${type}` : ""}`,
        );
      }
      const answer = await readAtMost(response.body, MOST_ANSWER_BYTES);
      if (answer === undefined) throw new Error("its answer is longer than a DNS message");
      return withoutAge(answer, response.headers.get("age"));
    },
    // The host manages the connections.
    close: () => {},
  };
}
