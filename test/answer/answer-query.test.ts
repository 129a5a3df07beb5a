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
import { FetchRequest } from "../../src/http/messages/message.ts";
import { HTTPS, streamTransport, type Transport, udpTransport } from "../../src/resolve/message-writer.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { optRecord } from "../dns/opt-record.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { addressOf, openStubs, queryFor } from "../forward/fake-upstreams.ts";
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

/** The settings of a listener. */
interface Place {
  readonly view?: string;
  readonly outsideZones?: OutsidePolicy;
}

interface Planted {
  readonly stubs?: QueryParts["stubs"];
  /** Whether the answer is synchronous. */
  readonly isCached?: boolean;
  /** Whether upstreams are for clients with some addresses. */
  readonly isByAddress?: boolean;
}

function handlerOf(late: Answer, outOfZone: Answer["outOfZone"], planted: Planted = {}) {
  const { stubs, isCached = false } = planted;
  const seen: (OutsidePolicy | string | undefined)[] = [];
  const counters = new QueryCounters();
  const answerQuery = createAnswerQuery({
    rule: "public",
    gateway: {
      answer: () => ({
        bytes: new Uint8Array(12),
        outcome: "refused",
        freshness: 0,
        ...(outOfZone !== undefined && { outOfZone }),
      }),
      hasCluster: (clusterId) => clusterId === "cluster-a",
    },
    clock: () => 0,
    counters,
    views: createViewReader({}, () => true),
    stubs,
    outside: {
      isByAddress: planted.isByAddress === true,
      answer: (_message, _given, policy, client) => {
        seen.push(policy, client);
        const origin = { upstream: "one", ageSeconds: 0, isStale: false };
        return isCached ? { answer: late, origin } : Promise.resolve({ answer: late, origin });
      },
    },
    clientAddress: socketAddress,
  });
  const handle = (
    message: Uint8Array,
    address: string,
    { view, outsideZones = "refuse" }: Place,
    transport: Transport,
  ) =>
    createAnswerMessage(answerQuery, { transport, cluster: view, outsideZones }, counters, (error) => {
      throw error;
    })(message, address);
  return { handle, seen, counters, answerQuery };
}

describe("a query whose answer fails", () => {
  const failing = (failure: () => ReturnType<typeof answerQuery>) => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const endpoint = { transport: udp, outsideZones: "refuse" } as const;
    const counters = new QueryCounters();
    return { errors, counters, answer: createAnswerMessage(failure, endpoint, counters, onError) };
  };
  const { answerQuery } = handlerOf(answerOf(1), undefined);
  const bug = new Error("a bug");

  it.each([
    [
      "at once",
      () => {
        throw bug;
      },
    ],
    ["later", () => Promise.reject(bug)],
  ])("%s is SERVFAIL, and reported: a client tries another server", async (_, failure) => {
    const { errors, counters, answer } = failing(failure);
    const answered = await answer(asked, "192.0.2.1");
    expect(dnsPacket.decode(Buffer.from(answered!.bytes))).toMatchObject({ id: 7, rcode: "SERVFAIL" });
    expect(errors).toEqual([bug]);
    expect([...counters.queries()]).toMatchObject([{ outcome: "servfail", transport: "udp", count: 1 }]);
    expect(await answer(Uint8Array.of(1), "192.0.2.1")).toBeUndefined();
  });
});

it.each([true, false])(
  "an upstream's answer is private if only some addresses get it: %s",
  async (isByAddress) => {
    const { answerQuery } = handlerOf(answerOf(1), "no-zone", { isByAddress });
    const request = new FetchRequest(new Request("https://doh.example/dns-query"), { address: "10.0.0.1" });
    const endpoint = { transport: HTTPS, outsideZones: "forward", cluster: undefined } as const;
    expect(await answerQuery(request, asked, endpoint)).toMatchObject({ isPrivate: isByAddress });
  },
);

describe("a listener with a query for a name out of zone", () => {
  it.each<[string, OutsidePolicy, OutsidePolicy]>([
    ["denies it by its policy", "nxdomain", "nxdomain"],
    ["forwards it by its policy", "forward", "forward"],
  ])("%s", async (_, outsideZones, policy) => {
    const late = answerOf(1);
    const { handle, seen, counters } = handlerOf(late, "no-zone");
    expect(await handle(asked, "192.0.2.7", { outsideZones }, udp)).toEqual(late);
    expect(seen).toEqual([policy, "192.0.2.7"]);
    expect([...counters.queries()]).toMatchObject([
      { transport: "udp", type: "TXT", outcome: "answer", count: 1 },
    ]);
  });
  it("answers also if its cluster is unknown: names out of zone do not depend on the view", async () => {
    const late = answerOf(1);
    for (const view of ["cluster-a", "nobody"]) {
      const { handle, seen } = handlerOf(late, "no-zone");
      expect(await handle(asked, "192.0.2.7", { view, outsideZones: "forward" }, udp)).toEqual(late);
      expect(seen).toHaveLength(2);
    }
  });

  it("does not deny ancestors of a registered federation", async () => {
    const denial = { ...answerOf(0), outcome: "nxdomain" } as const;
    const kept = { ...denial, outcome: "nodata" } as const;
    const stubs = { size: 1, forward: () => undefined, keepAncestor: () => kept };
    for (const outOfZone of ["no-zone", undefined] as const) {
      const { handle } = handlerOf(denial, outOfZone, { stubs });
      expect(await handle(asked, "192.0.2.7", { outsideZones: "nxdomain" }, udp)).toEqual(kept);
    }
  });

  it("sends no query to an upstream for a name in its zones", async () => {
    const { handle, seen } = handlerOf(answerOf(1), undefined);
    expect(await handle(asked, "192.0.2.7", { outsideZones: "forward" }, udp)).toMatchObject({
      outcome: "refused",
    });
    expect(seen).toEqual([]);
  });
});

describe("the duration histogram", () => {
  const countOf = ({ counters }: ReturnType<typeof handlerOf>) =>
    counters.durations.buckets.reduce((sum, count) => sum + count, 0);

  it.each([HTTPS, udp, tcp, streamTransport("dot", 1000)])(
    "counts a forwarded answer from the cache, over $name",
    async (transport) => {
      const world = handlerOf(answerOf(1), "no-zone", { isCached: true });
      await world.handle(asked, "192.0.2.7", { outsideZones: "forward" }, transport);
      expect(countOf(world)).toBe(1);
    },
  );

  it("does not count an answer that waited for another name server", async () => {
    const world = handlerOf(answerOf(1), "no-zone");
    await world.handle(asked, "192.0.2.7", { outsideZones: "forward" }, udp);
    expect(countOf(world)).toBe(0);
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
    const { forwarder } = fakeForwarder({ one });
    const answerQuery = createAnswerQuery({
      rule: "public",
      gateway: {
        answer: (message) => ({
          ...given,
          bytes: Uint8Array.from(message, (byte, at) => (at === 2 ? byte | 0x80 : byte)),
          freshness: 0,
        }),
        hasCluster: () => true,
      },
      clock: () => 0,
      counters: new QueryCounters(),
      views: createViewReader({}, () => true),
      stubs,
      outside: new Outside({ given: "refuse", localZones, forwarder }),
      clientAddress: () => "192.0.2.7",
    });
    const lengthOf = async (transport: Transport, packet: object) => {
      const message = queryFor(name, { ...packet, ...(flags !== undefined && { flags }) });
      const request = { address: undefined, header: () => undefined };
      const answered = await answerQuery(request as never, message, { transport, outsideZones: "forward" });
      return (answered as Answered).answer.bytes.length;
    };
    const plain = { additionals: [optRecord()] };
    return async (transport: Transport) => [
      await lengthOf(transport, PADDED),
      await lengthOf(transport, plain),
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
