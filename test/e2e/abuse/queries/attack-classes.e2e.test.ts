import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { Bystander } from "../harness/bystander.ts";
import { MemoryWatch } from "../harness/memory.ts";
import { attackQueries } from "./attack-queries.ts";
import { Http2Transport } from "./http2-transport.ts";
import { StreamTransport, UdpTransport } from "./plain-transports.ts";
import type { QueryTransport } from "./query-transport.ts";

const MESSAGE = { "content-type": "application/dns-message" };
const MIB = 1024 * 1024;
const MOST_GROWTH_MEBIBYTES = 64;

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

describe("requests without measure", () => {
  const http: ListeningGateway["gateway"]["http"] = (path, options) => listening.gateway.http(path, options);

  test.each(["%00", "AAAA=AAAA", "A", "!!", "%zz", "&".repeat(5000)])(
    "a parameter dns that is none: %s",
    async (dns) => {
      expect((await http(`/dns-query?dns=${dns}`)).status).toBe(400);
    },
  );

  test.each([
    ["one byte too long", 65_536],
    ["of 10 MiB", 10 * MIB],
    ["of 100 MiB", 100 * MIB],
  ])("a body %s is refused before it is read to its end", async (_, length) => {
    const memory = new MemoryWatch(listening.gateway.process.pid);
    const bystander = await Bystander.start(listening.gateway, { name: WEB, addresses: WEB_ADDRESSES });
    const sent = { method: "POST", headers: MESSAGE, body: Buffer.alloc(length) };
    // The gateway may close the connection while the client still sends.
    const status = await http("/dns-query", sent).then(
      (answer) => answer.status,
      () => 413,
    );
    expect(status).toBe(413);
    await bystander.stop();
    expect(memory.stop()).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });

  test("unknown methods get 405 or 501, and no other 5xx", async () => {
    for (const method of ["PUT", "PATCH", "DELETE", "PROPFIND", "TRACE", "FOO"]) {
      const statuses = [];
      for (const path of ["/dns-query", "/clusters/cluster-a/dns-query"])
        statuses.push(
          await http(path, { method }).then(
            (answer) => answer.status,
            () => 405,
          ),
        );
      expect([method, statuses]).toEqual([method, [405, 405]]);
    }
  });

  test("JSON questions of attacks", async () => {
    const names = [
      "a.".repeat(200),
      "a".repeat(64),
      "%00",
      "..",
      "%ff",
      "__proto__",
      "constructor",
      "\\999",
      "\\",
    ];
    const types = ["1", "A", "65536", "-1", "1e5", "ANY", "__proto__", "constructor", "toString", "TYPE255"];
    for (const name of names)
      for (const type of types) {
        const { status } = await http(`/resolve?name=${name}&type=${type}`);
        expect([name, type, [200, 400].includes(status)]).toEqual([name, type, true]);
      }
  });
});

function withId(query: Buffer, id: number): Buffer {
  const own = Buffer.from(query);
  if (own.length >= 2) own.writeUInt16BE(id);
  return own;
}
