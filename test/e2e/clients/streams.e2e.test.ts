import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { framed, StreamClient } from "../../hosts/listeners/dns-clients.ts";
import { answerOf, queryBytes, queryUdp } from "../servers/dns.ts";
import { BIG, BIG_SIZE, type ListeningGateway, startListeningGateway, WEB } from "./listening-gateway.ts";

const IDLE = { idleSeconds: 1, connections: 20, connectionsPerClient: 100 };
let listening: ListeningGateway;
beforeAll(async () => {
  listening = await startListeningGateway({ dns: IDLE, dot: IDLE });
});
afterAll(() => listening?.gateway.stop());

const clients: StreamClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const connectors: [string, () => Promise<StreamClient>][] = [
  ["TCP", () => StreamClient.tcp(listening.dnsPort)],
  [
    "TLS",
    () =>
      StreamClient.tls(listening.dotPort, {
        ca: readFileSync(listening.gateway.caFile),
        ALPNProtocols: ["dot"],
      }),
  ],
];

describe.each(connectors)("over %s", (_, connect) => {
  const open = async () => {
    const client = await connect();
    clients.push(client);
    return client;
  };
  const query = (id: number, name = WEB) => queryBytes({ name, type: "A", edns: true }, id);

  test("1,000 pipelined queries are answered, and so are 100 for large answers", async () => {
    const client = await open();
    client.send(...Array.from({ length: 1000 }, (__, id) => query(id)));
    for (let id = 0; id < 1000; id++) {
      const answer = answerOf((await client.next())!);
      expect([answer.message.id, answer.message.answers?.length]).toEqual([id, 2]);
    }
    client.send(...Array.from({ length: 100 }, (__, id) => query(id, BIG)));
    for (let id = 0; id < 100; id++)
      expect(answerOf((await client.next())!).message.answers).toHaveLength(BIG_SIZE);
  });

  test("slow clients are disconnected, and others are still answered", async () => {
    const slow = await Promise.all(Array.from({ length: 10 }, open));
    for (const client of slow) client.socket.write(framed(query(1)).subarray(0, 20));
    const fast = await open();
    fast.send(query(2));
    expect(answerOf((await fast.next())!).message.answers).toHaveLength(2);
    expect((await queryUdp(listening.dnsPort, { name: WEB, type: "A" })).rcode).toBe("NOERROR");
    for (const client of slow) expect(await client.next()).toBeUndefined();
  });

  test("connections over the limit do not keep other clients out", async () => {
    const idle = await Promise.all(Array.from({ length: 19 }, open));
    const others = [await open(), await open()];
    for (const client of others) {
      client.send(query(3));
      expect(answerOf((await client.next())!).message.id).toBe(3);
    }
    for (const client of idle) await client.closed;
  });
});
