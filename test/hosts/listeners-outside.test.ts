import dnsPacket from "dns-packet";
import { describe, expect, it } from "vitest";
import type { OutsidePolicy } from "../../src/forward/outside.ts";
import { createQueryHandler } from "../../src/hosts/node/listeners/query-handler.ts";
import { createAskerReader } from "../../src/http/client/asker.ts";
import { QueryCounters } from "../../src/http/metrics/query-counters.ts";
import type { Answer } from "../../src/resolve/answer.ts";
import { streamTransport, udpTransport } from "../../src/resolve/transport.ts";
import { query } from "../http/fake-gateway.ts";

const asked = query("www.example.com", "TXT", 7);
const udp = udpTransport(1232);
const tcp = streamTransport("tcp", 1000);

function answerOf(size: number): Answer {
  const packet = dnsPacket.encode({
    type: "response",
    id: 7,
    questions: [{ name: "www.example.com", type: "TXT" }],
    answers: [{ name: "www.example.com", type: "TXT", ttl: 5, data: Array(size).fill("x".repeat(99)) }],
  });
  return { bytes: new Uint8Array(packet), outcome: "answer", freshness: 5 };
}

function handlerOf(late: Answer, beyond: Answer["beyond"], leadsTo?: Uint8Array) {
  const seen: (OutsidePolicy | string | undefined)[] = [];
  const counters = new QueryCounters();
  const handle = createQueryHandler({
    gateway: {
      answer: () => ({
        bytes: new Uint8Array(12),
        outcome: "refused",
        freshness: 0,
        ...(beyond !== undefined && { beyond }),
        ...(leadsTo !== undefined && { leadsTo }),
      }),
      hasCluster: (clusterId) => clusterId === "cluster-a",
    },
    clock: () => 0,
    counters,
    asker: createAskerReader({}),
    stubs: undefined,
    outside: {
      answer: async (_message, _given, policy, client) => {
        seen.push(policy, client);
        return { answer: late };
      },
    },
    policy: "refuse",
  });
  return { handle, seen, counters };
}

describe("a listener asked for a name outside the zones", () => {
  it.each<[string, OutsidePolicy | undefined, OutsidePolicy]>([
    ["has the policy of all where it has none", undefined, "refuse"],
    ["has a policy of its own", "forward", "forward"],
  ])("%s", async (_, outsideZones, policy) => {
    const late = answerOf(1);
    const { handle, seen, counters } = handlerOf(late, "outside");
    expect(await handle(asked, "192.0.2.7", { outsideZones }, udp)).toEqual(late);
    expect(seen).toEqual([policy, "192.0.2.7"]);
    expect([...counters.queries()]).toMatchObject([
      { transport: "udp", type: "TXT", outcome: "answer", count: 1 },
    ]);
  });

  it("has what an alias of ours leads to looked up", async () => {
    const late = answerOf(1);
    const { handle, seen } = handlerOf(late, undefined, Uint8Array.of(1, 97, 0));
    expect(await handle(asked, "192.0.2.7", { outsideZones: "forward" }, udp)).toEqual(late);
    expect(seen).toHaveLength(2);
  });

  it("is none the worse where its cluster is not known: such names are everybody's", async () => {
    const late = answerOf(1);
    for (const view of ["cluster-a", "nobody"]) {
      const { handle, seen } = handlerOf(late, "outside");
      expect(await handle(asked, "192.0.2.7", { view, outsideZones: "forward" }, udp)).toEqual(late);
      expect(seen).toHaveLength(2);
    }
  });

  it("asks nobody for a name of its zones", async () => {
    const { handle, seen } = handlerOf(answerOf(1), undefined);
    expect(await handle(asked, "192.0.2.7", { outsideZones: "forward" }, udp)).toMatchObject({
      outcome: "refused",
    });
    expect(seen).toEqual([]);
  });

  it("truncates what fits into no datagram, and sends it whole over TCP (RFC 2181 section 9)", async () => {
    const late = answerOf(20);
    const { handle } = handlerOf(late, "outside");
    const short = await handle(asked, "192.0.2.7", { outsideZones: "forward" }, udp);
    expect(short!.bytes.length).toBeLessThanOrEqual(512);
    expect(dnsPacket.decode(Buffer.from(short!.bytes))).toMatchObject({ id: 7, flag_tc: true, answers: [] });
    expect((await handle(asked, "192.0.2.7", { outsideZones: "forward" }, tcp))!.bytes).toEqual(late.bytes);
  });
});
