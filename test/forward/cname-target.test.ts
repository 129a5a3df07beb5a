import type { Packet } from "dns-packet";
import { describe, expect, it } from "vitest";
import { LocalZones } from "../../src/forward/local.ts";
import { appendTarget, Outside, type OutsidePolicy, queryForTarget } from "../../src/forward/outside.ts";
import { readForwardable } from "../../src/forward/stub-zones.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { alias, east } from "../conformance/cases/cluster-local.ts";
import { compileWorld } from "../resolve/ask.ts";
import {
  atOnce,
  errorsIn,
  type ForwarderChanges,
  fakeForwarder,
  says,
  saysInTurn,
  soaRecord,
  withEdns,
} from "./fake-forwarder.ts";
import { answerTo, dead, decoded, type Handler, queryFor, silent } from "./fake-upstreams.ts";

const NAME = "www.shop.svc.cluster.local";
const TARGET = "web.Example.com";
const DENIAL = [soaRecord(4, 4)];

/** What the gateway and then the upstream say of an ExternalName Service. */
function open(
  server: Handler,
  {
    target = TARGET,
    stale = false,
    changes = {} as ForwarderChanges,
    policy = "forward" as OutsidePolicy,
    clients = undefined as [] | undefined,
  } = {},
) {
  const { forwarder, asked, ask, clock } = fakeForwarder({ one: server }, changes);
  const localZones = new LocalZones({ own: ["clusterset.local", "federation"], also: [], except: [] });
  const outside = new Outside({ given: "refuse", localZones, forwarder, clients });
  const message = queryFor(NAME, withEdns);
  const services = { "shop/www": alias(target) };
  const world = compileWorld([{ ...east, services }], {}, { view: "east" });
  const given = resolve(message, { ...world, stale })!;
  const answer = () => outside.answer(message, given, policy, "192.0.2.77", "public");
  return { given, asked, ask, clock, answer };
}

describe("an alias that leads outside", () => {
  it("is answered together with its target (RFC 1034 section 5.3.3)", async () => {
    const server = says({
      flags: 0x8180,
      answers: [
        { type: "CNAME", name: TARGET, ttl: 60, data: "x.example.net" },
        { type: "A", name: "x.example.net", ttl: 3, data: "192.0.2.1" },
      ],
    });
    const { answer: ask, asked } = open(server);
    const { answer, origin, isContinued } = await ask();
    expect(decoded(asked[0]!.query).questions).toMatchObject([{ name: "web.example.com", type: "A" }]);
    expect([answer.outcome, answer.freshness]).toEqual(["answer", 3]);
    expect([origin?.upstream, isContinued]).toEqual(["one", true]);
    const flags = { id: 0xabcd, flag_aa: true, flag_ra: true, flag_rd: true, rcode: "NOERROR" };
    expect(decoded(answer.bytes)).toMatchObject({
      ...flags,
      questions: [{ name: NAME }],
      answers: [
        { type: "CNAME", name: NAME, data: expect.stringMatching(/^web\.example\.com$/i) },
        { type: "CNAME", data: "x.example.net", ttl: 60 },
        { type: "A", name: "x.example.net", data: "192.0.2.1", ttl: 3 },
      ],
      additionals: [{ type: "OPT" }],
    });
  });

  it.each<[string, Packet & { rcode?: number }, string, number, number]>([
    ["that does not exist (RFC 6604 section 3)", { rcode: 3, authorities: DENIAL }, "NXDOMAIN", 1, 4],
    ["that has nothing of the type", { authorities: DENIAL }, "NOERROR", 1, 4],
    ["that no name server can answer", { rcode: 2 }, "SERVFAIL", 0, 0],
  ])("%s", async (_, packet, rcode, authorities, freshness) => {
    const { answer } = await open(says(packet)).answer();
    const said = decoded(answer.bytes);
    expect([said.rcode, said.answers?.length, answer.freshness]).toEqual([rcode, 1, freshness]);
    expect(said.authorities).toHaveLength(authorities);
  });

  it("may have private addresses, as internal load balancers do; other names may not", async () => {
    const server = says({ answers: [{ type: "A", name: TARGET, ttl: 60, data: "10.0.0.1" }] });
    const { ask, answer } = open(server);
    const through = await answer();
    expect(decoded(through.answer.bytes).answers).toMatchObject([{ type: "CNAME" }, { data: "10.0.0.1" }]);
    const direct = await ask(queryFor(TARGET, withEdns));
    expect(decoded(direct.answer.bytes).answers).toEqual([]);
  });

  it.each<[string, boolean, number]>([
    ["its target is stale", false, 3_600_000],
    ["the gateway's record is stale", true, 0],
    ["both are", true, 3_600_000],
  ])("says that it is stale, once, where %s", async (_, stale, later) => {
    const target = says({ answers: [{ type: "A", name: TARGET, ttl: 60, data: "192.0.2.1" }] });
    const { answer: ask, clock } = open(saysInTurn(target, later > 0 ? dead : target), { stale });
    await ask();
    await clock.advance(later);
    const { answer } = await ask();
    expect(decoded(answer.bytes).answers).toMatchObject([{ type: "CNAME" }, { data: "192.0.2.1" }]);
    expect(errorsIn(answer.bytes)).toEqual([3]);
  });

  it("never comes back into our zones", async () => {
    const ours = "web.shop.svc.clusterset.local";
    const { answer: ask } = open(
      says({
        answers: [
          { type: "CNAME", name: TARGET, ttl: 60, data: ours },
          { type: "A", name: ours, ttl: 60, data: "192.0.2.1" },
        ],
      }),
    );
    const { answer } = await ask();
    expect(decoded(answer.bytes).rcode).toBe("NOERROR");
    expect(decoded(answer.bytes).answers).toEqual([expect.objectContaining({ type: "CNAME", name: NAME })]);
    expect(errorsIn(answer.bytes)).toEqual([15]);
  });

  it("is answered alone if the client may not query its target", () => {
    const refused = open(silent, { changes: { limits: { queriesInFlight: 0 } } });
    expect(decoded(atOnce(refused.answer()).answer.bytes)).toMatchObject({
      rcode: "SERVFAIL",
      answers: [{}],
    });
    for (const target of ["x.federation", "none.clusterset.local"]) {
      const { answer, given, asked } = open(silent, { target });
      expect(atOnce(answer()).answer).toBe(given);
      expect(asked).toEqual([]);
    }
    const local = atOnce(open(silent, { target: "a.localhost" }).answer()).answer;
    expect(decoded(local.bytes).answers).toMatchObject([{ type: "CNAME" }, { data: "127.0.0.1" }]);
    const { answer, given } = open(silent, { policy: "refuse" });
    expect(atOnce(answer()).answer).toBe(given);
  });

  it("is kept by no cache if others may query its target", () => {
    const { answer, given } = open(silent, { clients: [] });
    expect(given.freshness).toBeGreaterThan(0);
    expect(atOnce(answer()).answer).toEqual({ ...given, freshness: 0 });
  });
});

describe("records behind an alias", () => {
  const message = queryFor("a.b", withEdns);
  const query = readForwardable(message)!;
  const given: Answer = {
    bytes: new Uint8Array(
      answerTo(message, { answers: [{ type: "CNAME", name: "a.b", ttl: 9, data: "c.d" }] }),
    ),
    outcome: "answer",
    freshness: 9,
  };
  const target = queryForTarget(message, query, Uint8Array.from([1, 99, 1, 100, 0]));
  /** The answer to the target: names that point to byte 12, "c.d", and behind. */
  const rest = (records: readonly number[][], authorities = 0): Answer => {
    const question = target.subarray(12, 12 + 5 + 4);
    const header = [0, 0, 0x81, 0x80, 0, 1, 0, records.length - authorities, 0, authorities, 0, 0];
    return {
      bytes: Uint8Array.from([...header, ...question, ...records.flat()]),
      outcome: "answer",
      freshness: 5,
    };
  };
  const record = (type: number, rdata: number[], owner = [0xc0, 12]) =>
    [owner, [0, type], [0, 1], [0, 0, 0, 7], [0, rdata.length], rdata].flat();

  it.each([
    ["A", record(1, [192, 0, 2, 1]), { data: "192.0.2.1" }],
    ["NS", record(2, [1, 110, 0xc0, 12]), { data: "n.c.d" }],
    ["CNAME", record(5, [0xc0, 14]), { data: "d" }],
    ["PTR", record(12, [0xc0, 12]), { data: "c.d" }],
    ["MX", record(15, [0, 10, 1, 109, 0xc0, 14]), { data: { preference: 10, exchange: "m.d" } }],
    [
      "SRV",
      record(33, [0, 1, 0, 2, 0, 80, 0xc0, 12]),
      { data: { priority: 1, weight: 2, port: 80, target: "c.d" } },
    ],
    [
      "SOA",
      record(6, [0xc0, 12, 1, 109, 0xc0, 14, ...Array(20).fill(1)]),
      { data: { mname: "c.d", rname: "m.d", minimum: 0x01010101 } },
    ],
    ["TXT", record(16, [2, 0xc0, 12]), { data: [Buffer.from([0xc0, 12])] }],
  ])("of type %s are written out", (type, bytes, expected) => {
    const answer = appendTarget(message, query, given, rest([bytes]))!;
    expect(decoded(answer.bytes).answers).toMatchObject([
      { type: "CNAME" },
      { type, name: "c.d", ttl: 7, ...expected },
    ]);
    expect(answer.freshness).toBe(5);
  });

  it("of an answer with TC, which is incomplete, are marked as such", () => {
    const cut = rest([record(1, [192, 0, 2, 1])]);
    cut.bytes[2]! |= 0x02;
    expect(decoded(appendTarget(message, query, given, cut)!.bytes).flag_tc).toBe(true);
  });

  it.each([
    ["a pointer to itself", record(1, [192, 0, 2, 1], [0xc0, 21])],
    ["a pointer into the header", record(1, [192, 0, 2, 1], [0xc0, 2])],
    ["a name that runs over its data", record(5, [3, 97])],
    ["a name that is not there", record(15, [0, 10])],
  ])("with %s are not copied", (_, bytes) => {
    expect(appendTarget(message, query, given, rest([bytes]))).toBeUndefined();
  });
});
