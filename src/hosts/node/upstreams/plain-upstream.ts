import { randomInt } from "node:crypto";
import { HeaderFlag } from "../../../dns/codes.ts";
import { readWord } from "../../../dns/wire-reader.ts";
import type { Upstream } from "../../../forward/upstreams/upstream.ts";
import { readUpstreamAnswer } from "../../../forward/upstreams/upstream-answer.ts";
import { hasSameCase, randomizeCase, restoreCase } from "./case-randomization.ts";
import { exchangeTcp } from "./tcp-exchange.ts";
import { type DnsEndpoint, exchangeUdp } from "./udp-exchange.ts";

/** Options for queries to a name server. */
export interface PlainUpstreamOptions {
  /** Randomizes the case of the name; if an answer over UDP has another case, the query is repeated over TCP. Default: false. */
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
