import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import { type ListeningGateway, startListeningGateway } from "../../clients/listening-gateway.ts";
import { attackQueries } from "./attack-queries.ts";
import { Http2Transport } from "./http2-transport.ts";
import { StreamTransport, UdpTransport } from "./plain-transports.ts";
import type { QueryTransport } from "./query-transport.ts";

let listening: ListeningGateway;
let port: number;
beforeAll(async () => {
  listening = await startListeningGateway({ config: { limits: { requestSeconds: 5 } } });
  port = Number(new URL(listening.gateway.url).port);
});
afterAll(() => listening?.gateway.stop());

describe("the queries of attacks", () => {
  const transports: [string, () => Promise<QueryTransport>][] = [
    ["HTTP/2", () => Http2Transport.open({ port, ca: listening.gateway.ca })],
    ["UDP", () => UdpTransport.open(listening.dnsPort)],
    ["TCP", async () => new StreamTransport("TCP", () => StreamClient.tcp(listening.dnsPort))],
  ];
  describe.each(transports)("over %s", (_, open) => {
    let transport: QueryTransport;
    beforeEach(async () => {
      transport = await open();
      return () => transport.close();
    });
    test.each(attackQueries)("$title", async ({ query, gets, most = query.length + 300 }) => {
      // By GET and by POST in each of their forms, where that is a difference.
      const copies = Array.from({ length: 8 }, (__, index) => withId(query, index + 1));
      for (const reaction of await transport.exchange(copies)) {
        if (gets === "no query") {
          expect(reaction).toBe(transport.noQuery);
          continue;
        }
        if (!(reaction instanceof Buffer)) throw new Error(`${reaction} instead of an answer`);
        expect([reaction[2]! >> 7, reaction[3]! & 15]).toEqual([1, gets]);
        expect(reaction.length).toBeLessThanOrEqual(most);
      }
    });
  });
});

function withId(query: Buffer, id: number): Buffer {
  const own = Buffer.from(query);
  if (own.length >= 2) own.writeUInt16BE(id);
  return own;
}
