import { randomInt } from "node:crypto";
import { HeaderFlag } from "../../../dns/codes.ts";
import { readWord } from "../../../dns/record-walk.ts";
import type { Upstream } from "../../../forward/upstream.ts";
import { readUpstreamAnswer } from "../../../forward/upstream-answer.ts";
import { exchangeTcp } from "./tcp-exchange.ts";
import { type DnsEndpoint, exchangeUdp } from "./udp-exchange.ts";

/** A name server for plain DNS: UDP, and TCP where the answer was truncated (RFC 7766 section 5). */
export function createPlainUpstream(nameserver: string, endpoint: DnsEndpoint): Upstream {
  return {
    nameserver,
    async exchange(query, signal) {
      const sent = withId(query, randomInt(0x10000));
      const isAnswer = (bytes: Uint8Array) => readUpstreamAnswer(sent, bytes) !== undefined;
      let answer = await exchangeUdp(endpoint, sent, isAnswer, signal);
      if ((readWord(answer, 2) & HeaderFlag.TC) !== 0) {
        answer = await exchangeTcp(endpoint, sent, signal);
        if (!isAnswer(answer)) throw new Error("what it sent over TCP is no answer to the query");
      }
      return withId(answer, 0);
    },
    // Every exchange has sockets of its own.
    close: () => {},
  };
}

function withId(message: Uint8Array, id: number): Uint8Array {
  const copy = Uint8Array.from(message);
  copy[0] = id >>> 8;
  copy[1] = id;
  return copy;
}
