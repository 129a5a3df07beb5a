import dnsPacket from "dns-packet";
import { describe, expect, it } from "vitest";
import { createViewReader, socketAddress } from "../../src/access/client.ts";
import {
  type Answered,
  createAnswerQuery,
  QueryCounters,
  type QueryParts,
} from "../../src/answer/answer-query.ts";
import { parseName } from "../../src/dns/name.ts";
import { LocalZones } from "../../src/forward/local.ts";
import { Outside, type OutsidePolicy } from "../../src/forward/outside.ts";
import { createAnswerMessage } from "../../src/hosts/node/listeners/udp.ts";
import { HTTPS, streamTransport, type Transport, udpTransport } from "../../src/resolve/message-writer.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { optRecord } from "../dns/opt-record.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { addressOf, openStubs, queryFor } from "../forward/fake-upstreams.ts";
import { query } from "../http/fake-gateway.ts";

const asked = query("www.example.com", "TXT", 7);
const udp = udpTransport(1232);
const tcp = streamTransport("tcp", 1000);

/** What every answer query has here. */
const parts = { rule: "public", clock: () => 0, views: createViewReader({}, () => true) };

const late: Answer = {
  bytes: new Uint8Array(
    dnsPacket.encode({
      type: "response",
      id: 7,
      questions: [{ name: "www.example.com", type: "TXT" }],
      answers: [{ name: "www.example.com", type: "TXT", ttl: 5, data: "x" }],
    }),
  ),
  outcome: "answer",
  freshness: 5,
};

/** A listener whose gateway refuses, and what asks for names out of zone answers. */
function handlerOf(
  outOfZone: Answer["outOfZone"],
  {
    answer = late,
    stubs,
    isCached = false,
  }: { answer?: Answer; stubs?: QueryParts["stubs"]; isCached?: boolean } = {},
) {
  const reason = outOfZone && { outOfZone };
  const seen: (OutsidePolicy | string | undefined)[] = [];
  const counters = new QueryCounters();
  const answerQuery = createAnswerQuery({
    ...parts,
    gateway: {
      answer: () => ({ bytes: new Uint8Array(12), outcome: "refused", freshness: 0, ...reason }),
      hasCluster: (clusterId) => clusterId === "cluster-a",
    },
    counters,
    stubs,
    outside: {
      isByAddress: false,
      answer: (_message, _given, policy, client) => {
        seen.push(policy, client);
        const found = { answer, origin: { upstream: "one", ageSeconds: 0, isStale: false } };
        return isCached ? found : Promise.resolve(found);
      },
    },
    clientAddress: socketAddress,
  });
  const handle = (outsideZones: OutsidePolicy, cluster?: string) =>
    createAnswerMessage(answerQuery, { transport: udp, cluster, outsideZones }, counters, (error) => {
      throw error;
    })(asked, "192.0.2.7");
  return { handle, seen, counters };
}

const bug = new Error("a bug");
const fail = (): never => {
  throw bug;
};

it.each([
  ["at once", fail],
  ["later", async () => fail()],
])("a query that fails %s is SERVFAIL, and reported: a client tries another server", async (_, failure) => {
  const errors: unknown[] = [];
  const counters = new QueryCounters();
  const endpoint = { transport: udp, outsideZones: "refuse" } as const;
  const answer = createAnswerMessage(failure, endpoint, counters, (error) => void errors.push(error));
  const answered = await answer(asked, "192.0.2.1");
  expect(dnsPacket.decode(Buffer.from(answered!.bytes))).toMatchObject({ id: 7, rcode: "SERVFAIL" });
  expect(errors).toEqual([bug]);
  expect([...counters.queries()]).toMatchObject([{ outcome: "servfail", transport: "udp", count: 1 }]);
  expect(await answer(Uint8Array.of(1), "192.0.2.1")).toBeUndefined();
});

describe("a listener with a query for a name out of zone", () => {
  it.each<[OutsidePolicy, string?]>([
    ["nxdomain"],
    ["forward"],
    ["forward", "cluster-a"],
    ["forward", "nobody"],
  ])("answers by its policy %s, also if its cluster is unknown: %s", async (outsideZones, cluster) => {
    const { handle, seen, counters } = handlerOf("no-zone");
    expect(await handle(outsideZones, cluster)).toEqual(late);
    expect(seen).toEqual([outsideZones, "192.0.2.7"]);
    const counted = { transport: "udp", type: "TXT", outcome: "answer", count: 1 };
    expect([...counters.queries()]).toMatchObject([counted]);
  });

  it("does not deny ancestors of a registered federation", async () => {
    const answer = { ...late, outcome: "nxdomain" } as const;
    const kept = { ...late, outcome: "nodata" } as const;
    const stubs = { size: 1, forward: () => undefined, keepAncestor: () => kept };
    for (const outOfZone of ["no-zone", undefined] as const)
      expect(await handlerOf(outOfZone, { answer, stubs }).handle("nxdomain")).toEqual(kept);
  });

  it("sends no query to an upstream for a name in its zones", async () => {
    const { handle, seen } = handlerOf(undefined);
    expect(await handle("forward")).toMatchObject({ outcome: "refused" });
    expect(seen).toEqual([]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])("has its duration in the histogram if the answer was cached: %s", async (isCached, expected) => {
    const { handle, counters } = handlerOf("no-zone", { isCached });
    await handle("forward");
    expect(counters.durations.buckets.reduce((sum, count) => sum + count, 0)).toBe(expected);
  });
});

describe("an answer to a padded query", () => {
  const PADDED = { additionals: [optRecord([{ code: 12, data: Buffer.alloc(8) }])] };

  /** Gives the lengths of the answers to a padded query, and to one without padding, over a transport. */
  async function lengthsOf(name: string, given: Omit<Answer, "bytes" | "freshness">, flags?: number) {
    const one = addressOf("192.0.2.1");
    const { stubs } = await openStubs({ one });
    await stubs.register({ name: "fed", nameservers: ["one"] });
    const localZones = new LocalZones({ own: [], also: [], except: [] });
    const answerQuery = createAnswerQuery({
      ...parts,
      gateway: {
        answer: (message) => ({ ...given, bytes: message.slice().with(2, message[2]! | 0x80), freshness: 0 }),
        hasCluster: () => true,
      },
      counters: new QueryCounters(),
      stubs,
      outside: new Outside({ given: "refuse", localZones, forwarder: fakeForwarder({ one }).forwarder }),
      clientAddress: () => "192.0.2.7",
    });
    const lengthOf = async (transport: Transport, packet: object) => {
      const message = queryFor(name, { ...packet, ...(flags !== undefined && { flags }) });
      const request = { address: undefined, header: () => undefined };
      const answered = await answerQuery(request as never, message, { transport, outsideZones: "forward" });
      return (answered as Answered).answer.bytes.length;
    };
    return async (transport: Transport) => [
      await lengthOf(transport, PADDED),
      await lengthOf(transport, { additionals: [optRecord()] }),
    ];
  }

  const outOfZone = { outcome: "refused", outOfZone: "no-zone" } as const;
  it.each<[string, string, Parameters<typeof lengthsOf>[1], number?]>([
    ["of an upstream", "www.example.com", outOfZone],
    ["of a federation's name server", "web.shop.fed.svc.federation", outOfZone],
    ["of a locally served zone", "localhost", outOfZone],
    ["that refuses to forward", "www.example.com", outOfZone, 0],
    [
      "with the target of a CNAME record",
      "www.example.com",
      { outcome: "answer", cnameTarget: parseName("web.example.net") },
    ],
  ])("%s is padded over encrypted transports only (RFC 7830 section 6)", async (_, name, given, flags) => {
    const lengths = await lengthsOf(name, given, flags);
    for (const transport of [HTTPS, streamTransport("dot", 1000)])
      expect((await lengths(transport))[0]).toBe(468);
    for (const transport of [udp, tcp]) {
      const [padded, plain] = await lengths(transport);
      expect(padded).toBe(plain);
    }
  });
});
